package faults

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// TestStopWithHangingReceiversEndsInItsTime has a global
// webhook and an instance's webhook that take every request and answer none, and
// a caller who waits for a test of one. What the outbox holds is delivered by the
// next start.
func TestStopWithHangingReceiversEndsInItsTime(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	w := rig.NewWorld(t)
	w.Env = []string{"SERVER_SHUTDOWN_TIMEOUT=4s"}
	var hanging atomic.Bool
	var arrived, tests atomic.Int64
	good := w.Hook.Config.Handler
	w.Hook.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if hanging.Load() {
			arrived.Add(1)
			hang(r)
			return
		}
		good.ServeHTTP(rw, r)
	})
	mute := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		if r.Header.Get("x-webhook-event") == string(event.CallUpsert) {
			tests.Add(1)
		}
		hang(r)
	}))
	defer mute.Close()
	w.Start()
	token := w.Pair("red")
	hanging.Store(true)
	w.Call(consumer.Bearer(token), http.MethodPut, "/instance/red/webhook", map[string]any{"url": mute.URL, "events": map[string]bool{"sendMessage": true}}, nil)
	w.CreateBatch("left", []string{"red"}, []string{"4917400000001", "4917400000002", "4917400000003"})
	w.Await("requests that hang", func() bool { return arrived.Load() >= 3 })
	asked := make(chan string, 1)
	go func() {
		var result struct{ Delivered bool }
		err := w.API.Call(t.Context(), consumer.Bearer(token), http.MethodPost, "/instance/red/webhook/test", map[string]any{"event": event.CallUpsert}, &result)
		if err != nil || result.Delivered {
			asked <- "webhook/test: " + w.Output.String()
		}
		close(asked)
	}()
	w.Await("the test hangs too", func() bool { return tests.Load() == 1 })
	begin := time.Now()
	w.Stop()
	if took := time.Since(begin); took > 10*time.Second { // four, and room for a busy machine
		t.Errorf("the stop took %v:\n%s", took, w.Output)
	}
	if complaint := <-asked; complaint != "" {
		t.Error(complaint)
	}
	for _, want := range []string{"webhooks dropped while stopping", "destination=" + strings.TrimPrefix(mute.URL, "http://"), "left for the next start"} {
		if !strings.Contains(w.Output.String(), want) {
			t.Errorf("no %q in\n%s", want, w.Output)
		}
	}
	hanging.Store(false)
	before := w.Seen("message.batch.created")
	w.Start()
	w.Await("what was left", func() bool {
		return w.Seen("message.batch.created") == before+1 && w.Seen("message.batch.completed") >= 1
	})
	w.Stop()
}

// hang answers nothing until the client goes away, which a server sees only once
// it has read the body.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}
