package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/record"
	"postern/event"
)

// TestASlowFileHasItsOwnTime: a file may take longer than a send and than its
// lease, and one that never comes is a certain failure. What has no file has
// no such time.
func TestASlowFileHasItsOwnTime(t *testing.T) {
	for _, row := range []struct {
		kind, payload string
		takes         time.Duration
		want          record.ItemStatus
		after         time.Duration
	}{
		{"media", `{"mediatype":"image","media":"https://example.org/a"}`, 4 * time.Minute, record.ItemSuccess, 4 * time.Minute},
		{"audio", `{"audio":"https://example.org/a"}`, 4 * time.Minute, record.ItemSuccess, 4 * time.Minute},
		{"link", `{"link":"https://example.org","thumbnailUrl":"https://example.org/a"}`, 4 * time.Minute, record.ItemSuccess, 4 * time.Minute},
		// A minute of that is for its turn.
		{"media", `{"mediatype":"image","media":"https://example.org/a"}`, time.Hour, record.ItemFailed, 6*time.Minute + 30*time.Second},
		{"link", `{"link":"https://example.org"}`, time.Hour, record.ItemFailed, 90 * time.Second},
		{"text", `{"text":"hello"}`, time.Hour, record.ItemFailed, 90 * time.Second},
	} {
		t.Run(fmt.Sprint(row.kind, " ", row.takes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(1, 2)
				f.prepare = func(ctx context.Context) error {
					select {
					case <-time.After(row.takes):
						return nil
					case <-ctx.Done():
						return fmt.Errorf("%w: %w", event.ErrSendRefused, event.ErrMedia)
					}
				}
				r := newRig(t, f, func(c *Config) { c.MediaTimeout = 5 * time.Minute })
				req := request(1)
				req.Message = event.BatchMessage{Type: row.kind, Payload: json.RawMessage(row.payload)}
				began := time.Now()
				r.create(req)
				time.Sleep(row.after + time.Second)
				item := r.items()[0]
				if item.Status != row.want || item.FinishedAt == nil || item.FinishedAt.Sub(began) != row.after {
					t.Errorf("%s, finished at %v", item.Status, item.FinishedAt)
				}
				r.stop()
			})
		})
	}
}
