package main

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"postern/event"
)

// A batch is deleted while its receiver is down: it is gone at once, its events
// wait, over a restart too, go out when the receiver is back, each once, and are
// gone then.
func TestTheEventsOfADeletedBatchStillGoOut(t *testing.T) {
	w := newWorld(t)
	w.keep = true
	var down atomic.Bool
	accept := w.hook.Config.Handler
	w.hook.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if down.Load() && strings.HasPrefix(r.Header.Get("x-webhook-event"), "message.batch.") {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		accept.ServeHTTP(rw, r)
	})
	w.start()
	w.pair("red")
	down.Store(true)
	b := w.createBatch("gone", []string{"red"}, []string{"4917400000001", "4917400000002"})
	w.await("the end of the batch", func() bool { return w.batch(b.ID).Status == event.BatchIsCompleted })
	path := "/message/batches/" + b.ID.String()
	w.call(bearer(w.user), http.MethodDelete, path, nil, nil)
	if status, answer := w.raw(bearer(w.user), http.MethodGet, path, ""); status != http.StatusNotFound {
		t.Errorf("after its deletion: %d %s", status, answer)
	}
	w.kill()
	w.start()
	if n := w.metric("postern_outbox_pending"); n == 0 {
		t.Fatal("nothing waits")
	}
	down.Store(false)
	w.await("the last event", func() bool { return w.seen(string(event.BatchCompleted)) == 1 })
	w.await("an empty outbox", func() bool {
		var list struct{ TotalRecords int }
		w.call(apiKey(w.sec.GlobalAuthToken), http.MethodGet, "/outbox", nil, &list)
		return list.TotalRecords == 0
	})
	w.stop()
	var told []string
	for _, r := range w.log {
		if kind, ok := strings.CutPrefix(r.event, "message.batch."); ok {
			told = append(told, kind)
		}
	}
	slices.Sort(told) // each has a backoff of its own
	if want := []string{"completed", "created", "progress", "progress", "started"}; !slices.Equal(told, want) {
		t.Errorf("told were %q, want %q", told, want)
	}
}
