package delivery

import (
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

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
