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

// TestEventIsOnItsWayAnHourLonger than its last delivery, at whichever destination that is.
func TestEventIsOnItsWayAnHourLonger(t *testing.T) {
	r := newRig(t, Config{Log: true})
	now := time.Now()
	r.now = func() time.Time { return now }
	r.reopen()
	e := r.emit(event.About{}, hook(event.OrderNone), global(event.OrderNone))
	is := func(seq uint64, want bool, when string) {
		t.Helper()
		r.view(func(tx *store.Tx) error {
			if got, unlogged, err := r.l.OnWay(tx, seq, time.Hour); err != nil || got != want || unlogged {
				t.Errorf("%s: %t, %v", when, got, err)
			}
			return nil
		})
	}
	is(e.Seq, true, "before the first attempt")
	r.settle(e.To[0].Due.Record, true, time.Time{})
	r.settle(e.To[1].Due.Record, false, time.Now().Add(time.Minute))
	now = now.Add(5 * time.Hour)
	is(e.Seq, true, "one destination has not taken it for hours")
	now = now.Add(-5 * time.Hour)
	r.settle(e.To[1].Due.Record, true, time.Time{})
	is(e.Seq, true, "delivered")
	now = now.Add(59 * time.Minute)
	is(e.Seq, true, "59 minutes later")
	now = now.Add(2 * time.Minute)
	is(e.Seq, false, "61 minutes later")
	is(e.Seq+1, false, "no event")
}

// TestEndedEventIsUnloggedWithoutTheLog while its body is kept: nothing says when it was delivered.
func TestEndedEventIsUnloggedWithoutTheLog(t *testing.T) {
	r := newRig(t, Config{})
	e := r.emit(event.About{}, hook(event.OrderNone))
	is := func(want, wantUnlogged bool, when string) {
		t.Helper()
		r.view(func(tx *store.Tx) error {
			if got, unlogged, err := r.l.OnWay(tx, e.Seq, time.Hour); err != nil || got != want || unlogged != wantUnlogged {
				t.Errorf("%s: %t %t, %v", when, got, unlogged, err)
			}
			return nil
		})
	}
	is(true, false, "before the first attempt")
	r.settle(e.To[0].Due.Record, true, time.Time{})
	is(false, true, "delivered")
}
