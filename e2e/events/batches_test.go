package events

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// TestBatchEventsGoOnlyToTheGlobalWebhook runs a batch
// through an instance whose webhook has every flag on a receiver of its own.
func TestBatchEventsGoOnlyToTheGlobalWebhook(t *testing.T) {
	w := rig.NewWorld(t)
	w.Keep = true
	var mu sync.Mutex
	var own []consumer.Webhook
	hook := httptest.NewServer(consumer.Receive(http.StatusOK, func(r consumer.Webhook) {
		mu.Lock()
		defer mu.Unlock()
		own = append(own, r)
	}))
	t.Cleanup(hook.Close)
	w.Start()
	token := w.Pair("red")
	flags := map[event.Flag]bool{}
	for _, d := range event.Catalogue() {
		if d.Flag != "" {
			flags[d.Flag] = true
		}
	}
	w.Call(consumer.Bearer(token), http.MethodPut, "/instance/red/webhook", map[string]any{"url": hook.URL, "events": flags}, nil)
	b := w.CreateBatch("contract", []string{"red"}, []string{"4917400000001", "4917400000000"})
	w.Await("the last event of the batch and send.message", func() bool {
		mu.Lock()
		defer mu.Unlock()
		sent := slices.ContainsFunc(own, func(r consumer.Webhook) bool { return r.Event == string(event.SendMessage) })
		return sent && w.Seen(string(event.BatchCompletedWithErrors)) == 1
	})
	w.Stop()

	var batchEvents []string
	for _, r := range w.Webhooks() {
		if isBatch := strings.HasPrefix(r.Event, "message.batch."); checkEnvelope(t, r, isBatch) && isBatch {
			batchEvents = append(batchEvents, strings.TrimPrefix(r.Event, "message.batch."))
		}
	}
	if got, want := strings.Join(batchEvents, " "), "created started progress item.failed progress completed-with-errors"; got != want {
		t.Errorf("batch %s reported %q, want %q", b.ID, got, want)
	}
	for _, r := range own {
		checkEnvelope(t, r, false)
	}
}

// checkEnvelope reports whether a delivery has the envelope of its family: the
// instance's has an instance, a batch's has none.
func checkEnvelope(t *testing.T, r consumer.Webhook, isBatch bool) bool {
	t.Helper()
	want := "data event instance timestamp"
	if isBatch {
		want = "data event timestamp"
	}
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &envelope); err != nil {
		t.Fatalf("%s: %v", r.Event, err)
	}
	if got := strings.Join(slices.Sorted(maps.Keys(envelope)), " "); got != want {
		t.Errorf("the envelope of %s has %s, want %s", r.Event, got, want)
		return false
	}
	return true
}
