package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/store"
)

// TestEventsAfterAPositionHaveNoGap even if maxAge is shorter for a time, and events made under
// it expire before older ones.
func TestEventsAfterAPositionHaveNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Log: true})
		for i, age := range []time.Duration{time.Hour, time.Second, time.Hour, time.Second} {
			if i == 3 {
				r.reopen()
			}
			to := hook(event.OrderNone)
			to.MaxAge = age
			e := r.emit(event.About{}, to)
			if e.Sequence != uint64(i+1) {
				t.Fatalf("number %d, want %d", e.Sequence, i+1)
			}
		}
		look := func(want int) {
			t.Helper()
			r.update(func(tx *store.Tx) error { _, _, err := r.l.Expire(tx, time.Now(), 100); return err })
			r.view(func(tx *store.Tx) error {
				all, err := PositionAfter(tx, 1, 0, 0)
				if len(all) != want {
					t.Errorf("%d events, want %d: %+v", len(all), want, all)
				}
				return err
			})
		}
		time.Sleep(10 * time.Second)
		look(4)
		r.view(func(tx *store.Tx) error {
			if n, err := ReadCounts(tx); err != nil || n.Of([]State{Expired}) != 2 {
				t.Errorf("%v, want 2 expired: the deliveries end by their own maxAge", n)
			}
			return nil
		})
		time.Sleep(time.Hour)
		look(0)
	})
}
