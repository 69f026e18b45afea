package dispatch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLossWarningsAreCountedPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l LogThrottle
		want := func(key string, level slog.Level, times int) {
			t.Helper()
			if gotLevel, gotTimes := l.Count(key); gotLevel != level || gotTimes != times {
				t.Errorf("%s: %v %d, want %v %d", key, gotLevel, gotTimes, level, times)
			}
		}
		want("a", slog.LevelWarn, 1)
		want("a", slog.LevelDebug, 1)
		want("a", slog.LevelDebug, 2)
		want("b", slog.LevelWarn, 1)
		time.Sleep(throttleEvery)
		want("a", slog.LevelWarn, 3)
		want("a", slog.LevelDebug, 1)
		time.Sleep(time.Hour)
		want("b", slog.LevelWarn, 1)
	})
}

func TestTheThrottleOfVeryManyKeysIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l LogThrottle
		for i := range throttleKeys + 10 {
			if level, times := l.Count(fmt.Sprint(i)); level != slog.LevelWarn || times != 1 {
				t.Fatalf("key %d: %v %d", i, level, times)
			}
		}
		if len(l.warned) != throttleKeys {
			t.Errorf("%d keys are kept, want %d", len(l.warned), throttleKeys)
		}
		time.Sleep(throttleEvery)
		l.Count("one more")
		if len(l.warned) != 1 {
			t.Errorf("%d keys are kept, want 1", len(l.warned))
		}
	})
}

func TestDownReceiverCausesOneWarningAMinute(t *testing.T) {
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer down.Close()
	var logs bytes.Buffer
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{}), Logger: slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	for range 20 {
		if err := q.Enqueue(notice(down.URL)); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	const line = `msg="webhook not delivered"`
	warned, all := strings.Count(logs.String(), "level=WARN "+line), strings.Count(logs.String(), line)
	if warned != 1 || all != 20 {
		t.Errorf("%d warnings and %d lines in all, want 1 and 20:\n%s", warned, all, logs.String())
	}
}
