//go:build linux

package faults

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestStopOnAFullDiskIsOrderly stops amid a batch of an instance
// with limits. The exit status is 0, and the next start loses nothing, sends
// nothing twice and counts no fewer messages than left.
func TestStopOnAFullDiskIsOrderly(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	w := rig.NewWorld(t)
	w.Env = []string{"MESSAGE_BATCH_SHUTDOWN_TIMEOUT_MS=1000", "LOG_LEVEL=warn"}
	w.Start()
	token := w.Pair("red")
	w.Call(consumer.Bearer(token), http.MethodPut, "/instance/red/limits", map[string]any{"perHour": 100_000}, nil)
	recipients := make([]string, 100)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49171000%04d", i+1)
	}
	b := w.CreateBatch("full", []string{"red"}, recipients)
	w.Await("some items sent", func() bool { return w.Batch(b.ID).Counts.Processed >= 10 })
	w.FileLimit(t, 0)
	w.Await("the program to find the disk full", func() bool { return strings.Contains(w.Output.String(), "no room") })
	w.Stop()
	for _, part := range []string{"devices", "store"} {
		if !regexp.MustCompile(`free some space first" part="?` + part).MatchString(w.Output.String()) {
			t.Errorf("nothing is reported of %s:\n%s", part, w.Output)
		}
	}

	w.Start()
	w.AwaitOnline("red", token)
	w.Await("the end of the batch", func() bool { return w.Batch(b.ID).Counts.Processed == len(recipients) })
	w.CheckItems(b.ID, "full")
	left := 0
	for _, number := range recipients {
		left += w.Decrypted(number, "for full")
	}
	var status struct {
		Limits struct{ PerHour struct{ Used int } }
	}
	w.Call(consumer.Bearer(token), http.MethodGet, "/instance/red/connection/status", nil, &status)
	if used := status.Limits.PerHour.Used; used < left {
		t.Errorf("%d messages left, and %d are counted", left, used)
	}
	w.AwaitOutbox()
	w.Stop()
	w.CheckOutbox(b.ID)
}
