package batch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/internal/nightly"
	"postern/store"
)

// ids23 makes message ids as long as those of WhatsApp.
func ids23() func() string {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(3, 4))
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprintf("3EB0%016X%02X", rng.Uint64(), rng.IntN(256))
	}
}

// What batches take of the file, their events included, is at most 1.6 times
// their records: of one batch at a time, of many side by side and of a large one.
func TestBatchesFillTheirPages(t *testing.T) {
	const most = 1.6
	for _, c := range []struct {
		rounds, batches, recipients int
		variables                   bool
	}{{nightly.Or(5, 20), 1, 400, false}, {nightly.Or(1, 10), 20, 400, false}, {1, 1, nightly.Or(4000, 10_000), false}, {1, 1, nightly.Or(4000, 10_000), true}} {
		t.Run(fmt.Sprint(c.batches, " at a time of up to ", c.recipients, ", variables ", c.variables), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(1, 2)
				f.send = func(_ context.Context, _ int64, out event.Outgoing) error {
					time.Sleep(1500 * time.Millisecond) // as a message takes that waits for its turn
					if out.To[6] == '7' {               // one in ten or so
						return event.ErrSendRefused
					}
					return nil
				}
				r := newRig(t, f, func(cfg *Config) { cfg.NewMessageID = ids23() })
				defer r.stop()
				rng := rand.New(rand.NewPCG(1, 2))
				items, made := 0, 0
				for range c.rounds {
					for range c.batches {
						n := 20 + rng.IntN(c.recipients)
						req := request(n)
						if c.variables {
							req = personalDraft(n)
							req.AutoStart = nil
						}
						if _, err := r.e.Create(t.Context(), uuid.UUID{15: byte(rng.IntN(30))}, req); err != nil {
							t.Fatal(err)
						}
						items, made = items+n, made+1
					}
					time.Sleep(5 * time.Hour)
				}
				var records, pages int64
				for _, b := range append(withOutbox(), store.Buckets()...) {
					u, err := r.s.Usage(b.Name)
					if err != nil {
						t.Fatal(err)
					}
					if u.Rows > 0 {
						t.Logf("%-14s %6d records of %4d bytes, %.2f times as many of the file, %d an item", b.Name, u.Rows, u.Records/int64(u.Rows), float64(u.Pages)/float64(u.Records), u.Pages/int64(items))
					}
					records, pages = records+u.Records, pages+u.Pages
				}
				fill := float64(pages) / float64(records)
				t.Logf("%d batches with %d items take %.2f times the bytes of their records", made, items, fill)
				if fill > most {
					t.Errorf("batches take %.2f times the bytes of their records, at most %.1f", fill, most)
				}
			})
		})
	}
}
