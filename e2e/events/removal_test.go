package events

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// A batch is deleted while its receiver is down: it is gone at once, its events
// wait, over a restart too, go out when the receiver is back, each once, and are
// gone then.
func TestEventsOfADeletedBatchAreDelivered(t *testing.T) {
	w := rig.NewWorld(t)
	w.Keep = true
	var down atomic.Bool
	accept := w.Hook.Config.Handler
	w.Hook.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if down.Load() && strings.HasPrefix(r.Header.Get("x-webhook-event"), "message.batch.") {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		accept.ServeHTTP(rw, r)
	})
	w.Start()
	w.Pair("red")
	down.Store(true)
	b := w.CreateBatch("gone", []string{"red"}, []string{"4917400000001", "4917400000002"})
	w.Await("the end of the batch", func() bool { return w.Batch(b.ID).Status == event.BatchIsCompleted })
	path := "/message/batches/" + b.ID.String()
	w.Call(consumer.Bearer(w.User), http.MethodDelete, path, nil, nil)
	if status, answer := w.Raw(consumer.Bearer(w.User), http.MethodGet, path, ""); status != http.StatusNotFound {
		t.Errorf("after its deletion: %d %s", status, answer)
	}
	w.Kill()
	w.Start()
	if n := w.Metric("postern_outbox_pending"); n == 0 {
		t.Fatal("nothing waits")
	}
	down.Store(false)
	w.Await("the last event", func() bool { return w.Seen(string(event.BatchCompleted)) == 1 })
	w.Await("an empty outbox", func() bool {
		var list struct{ TotalRecords int }
		w.Call(consumer.Key(w.Sec.GlobalAuthToken), http.MethodGet, "/outbox", nil, &list)
		return list.TotalRecords == 0
	})
	w.Stop()
	var reported []string
	for _, r := range w.Webhooks() {
		if kind, ok := strings.CutPrefix(r.Event, "message.batch."); ok {
			reported = append(reported, kind)
		}
	}
	slices.Sort(reported) // each has a backoff of its own
	if want := []string{"completed", "created", "progress", "progress", "started"}; !slices.Equal(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
}
