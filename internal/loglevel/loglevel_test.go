package loglevel

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAChangedLevelFallsBackByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(slog.LevelInfo)
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: l}))
		says := func(want bool) {
			t.Helper()
			out.Reset()
			log.Debug("x")
			if got := strings.Contains(out.String(), "msg=x"); got != want {
				t.Errorf("at %v a line of debug is written: %t", l.State(), got)
			}
		}
		says(false)
		if s := l.Change(slog.LevelDebug, time.Minute); s != (State{slog.LevelDebug, slog.LevelInfo, time.Now().Add(time.Minute)}) {
			t.Errorf("%+v", s)
		}
		says(true)
		time.Sleep(59 * time.Second)
		says(true)
		time.Sleep(time.Second)
		synctest.Wait()
		says(false)
		if s := l.State(); s != (State{slog.LevelInfo, slog.LevelInfo, time.Time{}}) {
			t.Errorf("%+v", s)
		}
	})
}

func TestTheLastChangeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(slog.LevelInfo)
		l.Change(slog.LevelDebug, time.Minute)
		time.Sleep(30 * time.Second)
		l.Change(slog.LevelError, time.Hour)
		time.Sleep(59 * time.Minute)
		if got := l.Level(); got != slog.LevelError {
			t.Errorf("the end of the first change ended the second: %v", got)
		}
		l.Reset()
		if s := l.State(); s.Is != slog.LevelInfo || !s.Until.IsZero() {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := l.Level(); got != slog.LevelInfo {
			t.Error(got)
		}
	})
}
