package crash

import (
	"fmt"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// TestBatchResumesAfterAnOrderlyStop is the gentle twin
// of the kill test.
func TestBatchResumesAfterAnOrderlyStop(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	w := rig.NewWorld(t)
	w.Start()
	token := w.Pair("red")
	recipients := make([]string, 200)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49171000%04d", i+1)
	}
	b := w.CreateBatch("gentle", []string{"red"}, recipients)
	w.Await("some items sent", func() bool { return w.Batch(b.ID).Counts.Processed >= 10 })
	w.Stop()
	if !w.BodyWith(event.BatchInterrupted, "GRACEFUL_SHUTDOWN") {
		// The relay stops with the process; the event is delivered by the next one.
		t.Log("interrupted was not delivered before the end")
	}
	w.Start()
	w.AwaitOnline("red", token)
	w.Await("the end of the batch", func() bool { return w.Batch(b.ID).Status == event.BatchIsCompleted })
	w.Await("the events", func() bool {
		return w.BodyWith(event.BatchInterrupted, "GRACEFUL_SHUTDOWN") && w.Seen(string(event.BatchRecovered)) == 1 && w.Seen(string(event.BatchCompleted)) == 1
	})
	w.CheckItems(b.ID, "gentle")
	w.Stop()
}
