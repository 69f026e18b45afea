package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"postern/event"
)

// TestBatchEventsGoToTheGlobalWebhookOnceAndToNoInstancesWebhook runs a batch
// through an instance whose webhook has every flag on a receiver of its own.
func TestBatchEventsGoToTheGlobalWebhookOnceAndToNoInstancesWebhook(t *testing.T) {
	w := newWorld(t)
	w.keep = true
	var mu sync.Mutex
	var own []received
	hook := httptest.NewServer(receiver(http.StatusOK, func(r received) {
		mu.Lock()
		defer mu.Unlock()
		own = append(own, r)
	}))
	t.Cleanup(hook.Close)
	w.start()
	token := w.pair("red")
	flags := map[event.Flag]bool{}
	for _, d := range event.Catalogue() {
		if d.Flag != "" {
			flags[d.Flag] = true
		}
	}
	w.call(bearer(token), http.MethodPut, "/instance/red/webhook", map[string]any{"url": hook.URL, "events": flags}, nil)
	b := w.createBatch("contract", []string{"red"}, []string{"4917400000001", "4917400000000"})
	w.await("the last event of the batch and send.message", func() bool {
		mu.Lock()
		defer mu.Unlock()
		sent := slices.ContainsFunc(own, func(r received) bool { return r.event == string(event.SendMessage) })
		return sent && w.seen(string(event.BatchCompletedWithErrors)) == 1
	})
	w.stop()

	var batchEvents []string
	for _, r := range w.log {
		if isBatch := strings.HasPrefix(r.event, "message.batch."); checkEnvelope(t, r, isBatch) && isBatch {
			batchEvents = append(batchEvents, strings.TrimPrefix(r.event, "message.batch."))
		}
	}
	if got, want := strings.Join(batchEvents, " "), "created started progress item.failed progress completed-with-errors"; got != want {
		t.Errorf("batch %s told %q, want %q", b.ID, got, want)
	}
	for _, r := range own {
		checkEnvelope(t, r, false)
	}
}

// checkEnvelope reports whether a delivery has the envelope of its family: the
// instance's has an instance, a batch's has none.
func checkEnvelope(t *testing.T, r received, isBatch bool) bool {
	t.Helper()
	want := "data event instance timestamp"
	if isBatch {
		want = "data event timestamp"
	}
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(r.body, &envelope); err != nil {
		t.Fatalf("%s: %v", r.event, err)
	}
	if got := strings.Join(slices.Sorted(maps.Keys(envelope)), " "); got != want {
		t.Errorf("the envelope of %s has %s, want %s", r.event, got, want)
		return false
	}
	return true
}
