package logbook

import (
	"testing"
	"time"

	"postern/delivery"
	"postern/store"
)

// TestStoppedReplayCountsInFlightDeliveriesAsEnded: the numbers of the replay include it, and
// the record that it repeats is not matched again.
func TestStoppedReplayCountsInFlightDeliveriesAsEnded(t *testing.T) {
	r := newRig(t, oldSettings().config())
	r.failed(1, 1)
	id := r.replay(ReplayRequest{}).ID
	r.turn()
	again := r.repeats(id)[0].ID
	if _, err := r.log.Replays.Cancel(t.Context(), 0, id); err != nil {
		t.Fatal(err)
	}
	r.turns()
	if rec, _ := r.record(again); rec.State != delivery.Cancelled {
		t.Fatalf("%+v", rec)
	}
	r.settle(again, true, time.Time{})
	if got := r.replayNow(id); got.State != ReplayCancelled || got.Sent != 1 || got.Delivered != 1 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
	if rec, _ := r.record(again); rec.State != delivery.Delivered || rec.OwnBody {
		t.Errorf("%+v", rec)
	}
	if got := r.replay(ReplayRequest{}); got.Matched != 0 {
		t.Errorf("%+v", got)
	}
}

// TestAttemptOfCancelledRetryIsLogged: the record returns to its former
// state, until the receiver accepts the attempt.
func TestAttemptOfCancelledRetryIsLogged(t *testing.T) {
	for _, accepted := range []bool{false, true} {
		r := newRig(t, options{Log: true})
		id := r.failed(1, 1)[0]
		r.flush()
		r.update(func(tx *store.Tx) error {
			rec, _, err := r.l.Retry(tx, id)
			if err == nil {
				_, _, err = r.l.CancelLane(tx, rec.Lane, delivery.ReasonCapacity, 10)
			}
			return err
		})
		r.settle(id, accepted, time.Time{})
		want := delivery.Failed
		if accepted {
			want = delivery.Delivered
		}
		if rec, all, _, err := r.log.Record(t.Context(), id); err != nil || rec.State != want || rec.Attempts != 2 || len(all) != 2 || (all[1].Error == "") != accepted {
			t.Errorf("accepted %t: %v, %+v, %+v", accepted, err, rec, all)
		}
	}
}
