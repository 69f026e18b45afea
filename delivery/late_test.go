package delivery

import (
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// TestAttemptOfCancelledDeliveryIsLogged: a delivery that the
// receiver accepted becomes DELIVERED in any case; otherwise it stays CANCELLED with its
// reason.
func TestAttemptOfCancelledDeliveryIsLogged(t *testing.T) {
	lane := LaneOf(1, hook(event.OrderChat))
	for _, tried := range []bool{false, true} {
		for _, accepted := range []bool{false, true} {
			r := newRig(t, Config{Log: true})
			id := r.emit(ana, hook(event.OrderChat)).First()
			attempts := 1
			if tried {
				r.settle(id, false, time.Now().Add(time.Minute))
				attempts = 2
			}
			r.update(func(tx *store.Tx) error {
				_, _, err := r.l.CancelLane(tx, lane, ReasonCapacity, 10)
				return err
			})
			for range 2 { // another one tells nothing of a delivery that ended by its answer
				r.settle(id, accepted, time.Now().Add(time.Minute))
				if !accepted {
					break
				}
			}
			rec, _ := r.record(id)
			var all []Attempt
			var err error
			r.view(func(tx *store.Tx) error {
				all, err = AttemptsOf(tx, rec)
				return err
			})
			if err != nil || len(all) != attempts || rec.Attempts != attempts {
				t.Fatalf("%v, %+v, %+v", err, rec, all)
			}
			last, state, reason := all[attempts-1], Cancelled, ReasonCapacity
			if accepted {
				state, reason = Delivered, ""
			}
			if rec.State != state || rec.LastError != reason || (last.Error == "") != accepted || last.Error == ReasonCapacity || last.RequestID == "" {
				t.Errorf("tried %t, accepted %t: %+v, %+v", tried, accepted, rec, last)
			}
			if tried && all[0].Error != "status 503" {
				t.Errorf("the attempt before: %+v", all[0])
			}
			r.view(func(tx *store.Tx) error {
				if by, err := ReadCounts(tx); err != nil || by.Of([]State{state}) != 1 || by.Of([]State{Pending}) != 0 {
					t.Errorf("%v, %v", by, err)
				}
				return nil
			})
			if due := r.due(lane); len(due) != 0 {
				t.Errorf("due are %v", due)
			}
		}
	}
}
