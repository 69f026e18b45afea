package delivery

import (
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// TestAnAttemptThatWasUnderWayAsItsDeliveryWasCancelledIsALineOfItsRecord: a delivery that the
// receiver accepted becomes DELIVERED in any case; otherwise it stays CANCELLED with its
// reason.
func TestAnAttemptThatWasUnderWayAsItsDeliveryWasCancelledIsALineOfItsRecord(t *testing.T) {
	lane := laneOf(1, hook(event.OrderChat))
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
			rec, all, _, err := r.l.Record(t.Context(), id)
			if err != nil || len(all) != attempts || rec.Attempts != attempts {
				t.Fatalf("%v, %+v, %+v", err, rec, all)
			}
			last, state, reason := all[attempts-1], Cancelled, ReasonCapacity
			if accepted {
				state, reason = Delivered, ""
			}
			if rec.State != state || rec.LastError != reason || (last.Error == "") != accepted || last.Error == ReasonCapacity || last.RequestID == "" {
				t.Errorf("tried %t, accepted %t: %+v, %+v", tried, accepted, rec.Record, last)
			}
			if tried && all[0].Error != "status 503" {
				t.Errorf("the attempt before: %+v", all[0])
			}
			if by, err := r.l.Counts(t.Context()); err != nil || by[state] != 1 || by[Pending] != 0 {
				t.Errorf("%v, %v", by, err)
			}
			if due := r.due(lane); len(due) != 0 {
				t.Errorf("due are %v", due)
			}
		}
	}
}

// TestWhatAStoppedReplayHadUnderWayCountsAsItEnded: the numbers of the replay include it, and
// the record that it repeats is not matched again.
func TestWhatAStoppedReplayHadUnderWayCountsAsItEnded(t *testing.T) {
	r := newRig(t, oldSettings().config())
	r.failed(1, 1)
	id := r.replay(ReplayRequest{}).ID
	r.turn()
	again := r.repeats(id)[0].ID
	if _, err := r.l.CancelReplay(t.Context(), 0, id); err != nil {
		t.Fatal(err)
	}
	r.turns()
	if rec, _ := r.record(again); rec.State != Cancelled {
		t.Fatalf("%+v", rec)
	}
	r.settle(again, true, time.Time{})
	if got := r.replayNow(id); got.State != ReplayCancelled || got.Sent != 1 || got.Delivered != 1 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
	if rec, _ := r.record(again); rec.State != Delivered || rec.OwnBody {
		t.Errorf("%+v", rec)
	}
	if got := r.replay(ReplayRequest{}); got.Matched != 0 {
		t.Errorf("%+v", got)
	}
}

// TestARetryThatWasUnderWayAsItWasCancelledIsALineOfItsRecord: the record returns to its former
// state, until the receiver accepts the attempt.
func TestARetryThatWasUnderWayAsItWasCancelledIsALineOfItsRecord(t *testing.T) {
	for _, accepted := range []bool{false, true} {
		r := newRig(t, Config{Log: true})
		id := r.failed(1, 1)[0]
		r.flush()
		r.update(func(tx *store.Tx) error {
			rec, _, err := r.l.Retry(tx, id)
			if err == nil {
				_, _, err = r.l.CancelLane(tx, rec.Lane, ReasonCapacity, 10)
			}
			return err
		})
		r.settle(id, accepted, time.Time{})
		want := Failed
		if accepted {
			want = Delivered
		}
		if rec, all, _, err := r.l.Record(t.Context(), id); err != nil || rec.State != want || rec.Attempts != 2 || len(all) != 2 || (all[1].Error == "") != accepted {
			t.Errorf("accepted %t: %v, %+v, %+v", accepted, err, rec, all)
		}
	}
}
