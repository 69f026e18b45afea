package httpapi

import (
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"postern/httpapi/operator"
	"postern/store"
)

func TestTheLogLevelChangesForAWhileOnly(t *testing.T) {
	r := newRig(t)
	level := r.api.operator.LogLevel
	is := func(method, body string) operator.LogState {
		return decoded[operator.LogState](t, r.admin(method, "/admin/log", body))
	}
	if s := is("GET", ""); s != (operator.LogState{Level: "info", Usual: "info"}) {
		t.Errorf("%+v", s)
	}
	for body, want := range map[string]struct {
		level   slog.Level
		minutes int
	}{
		`{"level":"debug"}`:                {slog.LevelDebug, 15},
		`{"level":"debug","minutes":null}`: {slog.LevelDebug, 15},
		`{"level":"error","minutes":1}`:    {slog.LevelError, 1},
		`{"level":"warn","minutes":1440}`:  {slog.LevelWarn, 1440},
	} {
		before := time.Now()
		s := is("PUT", body)
		if s.Until == nil || level.Level() != want.level || s.Usual != "info" {
			t.Fatalf("%s: %+v", body, s)
		}
		if left := s.Until.Sub(before) - time.Duration(want.minutes)*time.Minute; left < -time.Second || left > time.Minute {
			t.Errorf("%s: until %v", body, s.Until)
		}
	}
	if s := is("DELETE", ""); s != (operator.LogState{Level: "info", Usual: "info"}) || level.Level() != slog.LevelInfo {
		t.Errorf("%+v", s)
	}
	for body, status := range map[string]int{
		`{}`: 422, `{"level":"loud"}`: 422, `{"level":"DEBUG"}`: 422, `{"level":"debug","minutes":0}`: 422, `{"level":"debug","minutes":1441}`: 422,
		`{"level":"debug","minutes":-1}`: 422, `{"level":"debug","minutes":1.5}`: 400, `{"level":"debug","seconds":1}`: 400, `[]`: 400,
	} {
		if res := r.admin("PUT", "/admin/log", body); res.StatusCode != status {
			t.Errorf("%s: %d", body, res.StatusCode)
		}
		if level.Level() != slog.LevelInfo {
			t.Errorf("%s changed the level", body)
		}
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if res := r.as("", method, "/admin/log", `{"level":"debug"}`); res.StatusCode != 401 {
			t.Errorf("%s without the key: %d", method, res.StatusCode)
		}
	}
}

func TestLogLinesAreForTheOperator(t *testing.T) {
	r := newRig(t)
	_, _ = io.WriteString(r.api.operator.LogLines, "the last line\n")
	res := r.admin("GET", "/admin/log/lines", "")
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 || string(text) != "the last line\n" || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %q %v", res.StatusCode, text, err)
	}
	is := decoded[store.Inspection](t, r.admin("GET", "/admin/stats", ""))
	if is.Bytes == 0 || !slices.ContainsFunc(is.Buckets, func(b store.Size) bool { return b.Bucket == "instance" && b.Owner == "instance" }) {
		t.Errorf("%+v", is)
	}
	for _, path := range []string{"/admin/log/lines", "/admin/stats"} {
		if res := r.as("", "GET", path, ""); res.StatusCode != 401 {
			t.Errorf("%s without the key: %d", path, res.StatusCode)
		}
	}
}
