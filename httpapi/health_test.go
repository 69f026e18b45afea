package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/store"
)

func TestFullDiskRefusesWorkAndReadyExplains(t *testing.T) {
	r := newRigOnDisk(t, math.MaxUint64)
	wantError(t, r.admin("POST", "/instance", `{"instanceName":"a"}`), 503, "DISK_FULL")
	wantError(t, r.do("POST", "/message/batches", batchBody("instances", `["a"]`)), 503, "DISK_FULL")

	res := do(r.h, httptest.NewRequest("GET", "/ready", nil))
	var body operator.Health
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil || res.StatusCode != 503 || len(body.Reasons) != 1 {
		t.Errorf("ready: %d %+v %v", res.StatusCode, body, err)
	}
	if res := do(r.h, httptest.NewRequest("GET", "/health", nil)); res.StatusCode != 200 {
		t.Errorf("health: %d", res.StatusCode)
	}
}

func TestReadyReportsAReadOnlyDataFile(t *testing.T) {
	r := newRig(t)
	hangs, heal := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- r.store.Update(t.Context(), func(*store.Tx) error {
			close(hangs)
			<-heal
			return nil
		})
	}()
	<-hangs
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("the disk hangs"))
	defer cancel()
	res := do(r.h, httptest.NewRequest("GET", "/ready", nil).WithContext(ctx))
	if body := decodedAs[operator.Health](t, res, 503); len(body.Reasons) != 1 || body.Reasons[0] != "the disk hangs" {
		t.Errorf("got %+v", body)
	}
	close(heal)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	before := r.store.Stats().Commits
	decodedAs[operator.Health](t, do(r.h, httptest.NewRequest("GET", "/ready", nil)), 200)
	if after := r.store.Stats().Commits; after != before {
		t.Errorf("to ask cost %d commits", after-before)
	}
}

func TestReadyNamesEachReasonOfTheProgram(t *testing.T) {
	r := newRig(t)
	a := operator.New(operator.Config{Store: r.store, Program: operator.Program{Ready: func() []string { return []string{"one loop stands", "another too"} }}})
	w := &rest.Response{ResponseWriter: httptest.NewRecorder()}
	if err := a.ShowReady(&rest.Call{Response: w, Request: httptest.NewRequest("GET", "/ready", nil)}); err != nil {
		t.Fatal(err)
	}
	res := w.ResponseWriter.(*httptest.ResponseRecorder).Result()
	if body := decodedAs[operator.Health](t, res, 503); len(body.Reasons) != 2 || body.Status == "ok" {
		t.Errorf("got %+v", body)
	}
}

// decodedAs decodes the JSON of an answer with that status.
func decodedAs[T any](t *testing.T, res *http.Response, status int) (v T) {
	t.Helper()
	if err := json.NewDecoder(res.Body).Decode(&v); err != nil || res.StatusCode != status {
		t.Errorf("%d %+v %v, want %d", res.StatusCode, v, err, status)
	}
	return v
}

func TestHealthAndReadyNeedNoCredential(t *testing.T) {
	r := newRig(t)
	for path, status := range map[string]string{"/health": "ok", "/ready": "ready"} {
		res := do(r.h, httptest.NewRequest("GET", path, nil))
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != 200 || string(body) != `{"status":"`+status+`"}` {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
}

func TestMetricsListenerHasTheCommonErrorBody(t *testing.T) {
	h := NewMetrics(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x 1") }), slog.New(slog.DiscardHandler))
	if res := do(h, httptest.NewRequest("GET", "/metrics", nil)); res.StatusCode != 200 || res.Header.Get("x-request-id") == "" {
		t.Errorf("got %d, x-request-id %q", res.StatusCode, res.Header.Get("x-request-id"))
	}
	wantError(t, do(h, httptest.NewRequest("POST", "/metrics", nil)), 405, "METHOD_NOT_ALLOWED")
	wantError(t, do(h, httptest.NewRequest("GET", "/instance", nil)), 404, "NOT_FOUND")
}

// dial starts the server as the program does and returns a connection to it.
func dial(t *testing.T, h http.Handler) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := NewServer(h, slog.New(slog.DiscardHandler))
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	var d net.Dialer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

func TestHeadersOverTheirLimitAreRefused(t *testing.T) {
	c := dial(t, newRig(t).h)
	_, _ = io.WriteString(c, "GET /health HTTP/1.1\r\nHost: x\r\nX-Big: "+strings.Repeat("x", 2*maxHeaderBytes)+"\r\n\r\n")
	answer, _ := io.ReadAll(c)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 431 ") {
		t.Errorf("got %.60q", answer)
	}
}

// TestEveryAnswerHasARequestID, also the answer to OPTIONS *.
func TestEveryAnswerHasARequestID(t *testing.T) {
	c := dial(t, newRig(t).h)
	_, _ = io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nConnection: close\r\n\r\n")
	answer, _ := io.ReadAll(c)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 404 ") || !strings.Contains(string(answer), "X-Request-Id: mine\r\n") {
		t.Errorf("got %q", answer)
	}
}

func TestPanicMidAnswerIsNotAWholeAnswer(t *testing.T) {
	a := bare(io.Discard, rest.Route{Method: "GET", Path: "/x", Auth: rest.Public, Right: rest.Never, Handle: func(c *rest.Call) error {
		_, _ = io.WriteString(c.Response, "half")
		_ = http.NewResponseController(c.Response).Flush()
		panic("boom")
	}})
	c := dial(t, a)
	_, _ = io.WriteString(c, "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	answer, _ := io.ReadAll(c) // ends only because the server closes
	if !strings.Contains(string(answer), "half") || strings.HasSuffix(string(answer), "0\r\n\r\n") {
		t.Errorf("the answer has an end: %q", answer)
	}
}

func TestDocsHandlerCanTakeTheConnectionOver(t *testing.T) {
	a := bare(io.Discard)
	a.Mount(rest.Route{Path: "/sandbox/", Auth: rest.Public, Handle: rest.ServeWith(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "taken")
		_ = conn.Close()
	}))})
	c := dial(t, a)
	_, _ = io.WriteString(c, "GET /sandbox/x HTTP/1.1\r\nHost: x\r\n\r\n")
	if answer, _ := io.ReadAll(c); string(answer) != "taken" {
		t.Errorf("got %q", answer)
	}
}
