package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestASessionOfAnotherKeyDoesNotExist(t *testing.T) {
	w := newWorld(t)
	id := w.session(all)
	for _, key := range []string{other, reader} {
		if status, answer, _ := w.post(key, id, calling("1", "list_instances", nil)); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", key, status, answer)
		}
		if status, answer, _ := w.raw(http.MethodDelete, key, id, ""); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", key, status, answer)
		}
	}
	if status, _, _ := w.post(all, "made-up", calling("1", "list_instances", nil)); status != http.StatusNotFound {
		t.Errorf("a session that does not exist: %d", status)
	}
	if status, answer, _ := w.post(all, id, calling("1", "list_instances", nil)); status != http.StatusOK {
		t.Errorf("its own: %d %s", status, answer)
	}
	if status, _, _ := w.raw(http.MethodDelete, all, id, ""); status != http.StatusNoContent {
		t.Errorf("its end: %d", status)
	}
	if status, _, _ := w.post(all, id, calling("1", "list_instances", nil)); status != http.StatusNotFound {
		t.Errorf("after its end: %d", status)
	}
}

// open returns how many sessions the SDK holds.
func (w *world) open() (n int) {
	for range w.server.sdk.Sessions() {
		n++
	}
	return n
}

func TestSessionsAreBoundedAndLeaveNothingBehind(t *testing.T) {
	w := newWorld(t)
	first := w.session(all)
	mine := w.session(other)
	before := runtime.NumGoroutine()
	for range 3 * maxSessionsOfKey {
		w.session(all)
	}
	if got := w.open(); got != maxSessionsOfKey+1 || len(w.server.sessions.all) != got {
		t.Errorf("%d sessions are open, and %d are known", got, len(w.server.sessions.all))
	}
	if status, _, _ := w.post(all, first, calling("1", "list_instances", nil)); status != http.StatusNotFound {
		t.Errorf("the oldest one: %d", status)
	}
	if status, _, _ := w.post(other, mine, calling("1", "list_instances", nil)); status != http.StatusOK {
		t.Errorf("that of another key: %d", status)
	}
	for range 50 { // requests that open none
		w.post(all, "", calling("1", "list_instances", nil))
		w.post(all, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":17}`)
	}
	if got := w.open(); got > maxSessionsOfKey+1 {
		t.Errorf("%d sessions are open after requests without one", got)
	}
	w.server.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); runtime.Gosched() {
	}
	if got := runtime.NumGoroutine(); got > before || w.open() != 0 {
		t.Errorf("%d goroutines, and there were %d; %d sessions", got, before, w.open())
	}
}

func TestIdleSessionEndsAfter30Minutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local := &Local{}
		local.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"key":{"id":"k","scopes":["read"]}}`)
		}))
		s := New(Config{API: local})
		ask := func(session, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/mcp", strings.NewReader(body))
			r.Header = http.Header{"Authorization": {"Bearer pk_x"}, "Content-Type": {"application/json"}, "Accept": {"*/*"}, sessionHeader: {session}}
			if session == "" {
				r.Header.Del(sessionHeader)
			}
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, r)
			return rec
		}
		id := ask("", initialize).Header().Get(sessionHeader)
		ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		for range 3 {
			time.Sleep(sessionIdle - time.Second)
			if rec := ask(id, ping); rec.Code != http.StatusOK {
				t.Fatalf("in use: %d %s", rec.Code, rec.Body)
			}
		}
		time.Sleep(sessionIdle + time.Second)
		synctest.Wait()
		for range s.sdk.Sessions() {
			t.Error("the SDK still holds it")
		}
		if rec := ask(id, ping); rec.Code != http.StatusNotFound {
			t.Errorf("idle: %d %s", rec.Code, rec.Body)
		}
		if ask("", initialize); len(s.sessions.all) != 1 {
			t.Errorf("%d sessions are known", len(s.sessions.all))
		}
		s.Close()
	})
}

func TestBusySessionsAreNotReplaced(t *testing.T) {
	s := newSessions()
	for i := range maxSessions {
		id := fmt.Sprint(i)
		s.add(id, fmt.Sprint("key", i))
		if i > 0 {
			s.use(id, fmt.Sprint("key", i))
		}
	}
	if end, ok := s.room("new"); !ok || !slices.Equal(end, []string{"0"}) {
		t.Errorf("%v %v", end, ok)
	}
	s.add("last", "new")
	s.use("last", "new")
	if end, ok := s.room("newer"); ok || end != nil {
		t.Errorf("all are at work: %v %v", end, ok)
	}
}

func TestTooManyCallsAtOnceAreRefused(t *testing.T) {
	w := newWorld(t)
	entered, leave := make(chan struct{}, maxCalls), make(chan struct{})
	w.answers["GET /instance"] = func(rw http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-leave
		says(200, `[]`)(rw, r)
	}
	s, _ := w.byHTTP(all)
	done := make(chan error, maxCallsOfKey)
	for range maxCallsOfKey {
		go func() {
			_, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: "list_instances"})
			done <- err
		}()
	}
	for range maxCallsOfKey {
		<-entered
	}
	if text, isError := call(t, s, "find_chats", examples["find_chats"]); !isError || !strings.HasPrefix(text, "BUSY") {
		t.Errorf("one more: %s", text)
	}
	o, _ := w.byHTTP(other)
	if text, isError := call(t, o, "find_chats", examples["find_chats"]); isError {
		t.Errorf("another key: %s", text)
	}
	close(leave)
	for range maxCallsOfKey {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if text, isError := call(t, s, "find_chats", examples["find_chats"]); isError {
		t.Errorf("after they ended: %s", text)
	}
	if w.server.calls.total != 0 || len(w.server.calls.of) != 0 {
		t.Errorf("%+v is left", w.server.calls)
	}
}

func TestAKeyMakesSoManyCallsAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalls()
		for i := range maxCallsPerMinute + 10 {
			leave, no := c.enter("a", true)
			if (no != "") != (i >= maxCallsPerMinute) || no != "" && no != "RATE_LIMITED: a key makes 120 calls a minute at most (again in 61 seconds)" {
				t.Fatalf("call %d: %q", i, no)
			}
			if no == "" {
				leave()
			}
		}
		for _, key := range []string{"a", "b"} { // what is only listed is not counted, nor is another key
			leave, no := c.enter(key, key == "b")
			if no != "" {
				t.Fatal(no)
			}
			leave()
		}
		time.Sleep(61 * time.Second)
		if _, no := c.enter("a", true); no != "" || len(c.made) != 1 {
			t.Errorf("a minute later: %q, and %v is kept", no, c.made)
		}
	})
}

// TestCallRateIsLimitedPerKey: as many as 120 a second before the clock's minute
// turns leave none for its next second.
func TestCallRateIsLimitedPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, made := newCalls(), []time.Time{}
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute - time.Second)))
		for begin := time.Now(); time.Since(begin) < 5*time.Minute; time.Sleep(100 * time.Millisecond) {
			if leave, no := c.enter("a", true); no == "" {
				leave()
				made = append(made, time.Now())
			}
		}
		for i := maxCallsPerMinute; i < len(made); i++ {
			if within := made[i].Sub(made[i-maxCallsPerMinute]); within < time.Minute {
				t.Fatalf("%d calls within %s", maxCallsPerMinute+1, within)
			}
		}
		if len(made) < 4*maxCallsPerMinute {
			t.Errorf("%d calls in five minutes", len(made))
		}
	})
}

func TestRateLimitedCallsAreNotAudited(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(reader)
	w.server.calls.mu.Lock()
	for range maxCallsPerMinute {
		w.server.calls.minuteOf("k-reader", time.Now()).Take(maxCallsPerMinute, time.Now())
	}
	w.server.calls.mu.Unlock()
	w.change(func() { w.audit = nil })
	if text, _ := call(t, s, "list_instances", nil); !strings.HasPrefix(text, "RATE_LIMITED") {
		t.Error(text)
	}
	w.change(func() {
		if w.audit != nil {
			t.Errorf("the audit log has %v", w.audit)
		}
	})
}
