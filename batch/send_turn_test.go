package batch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"postern/batch/record"
	"postern/event"
)

// waitsForTurn makes a fleet whose messages wait for a turn that comes after a
// time from the first of them on, as those of an instance that is busy with
// others do, each for no longer than a bound.
func waitsForTurn(after, bound time.Duration) *scripted {
	f := newFleet(1)
	var first time.Time
	f.prepare = func(ctx context.Context) error {
		if first.IsZero() {
			first = time.Now()
		}
		select {
		case <-time.After(time.Until(first.Add(after))):
			return nil
		case <-time.After(bound):
			return event.ErrBusy
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", event.ErrSendRefused, ctx.Err())
		}
	}
	return f
}

func TestItemWithoutTurnWaitsWithoutEvents(t *testing.T) {
	bubble(t, waitsForTurn(10*time.Minute+30*time.Second, time.Minute), func(r *rig) {
		r.create(request(2))
		time.Sleep(10*time.Minute + time.Second)
		v := r.status(process)
		if v.Counts.Sending != 1 || v.Counts.Pending != 1 || v.Counts.Unknown+v.Counts.Failed != 0 {
			t.Errorf("%+v", v.Counts)
		}
		i, err := r.e.Item(owner, r.batch, r.items()[0].ID)
		if err != nil || len(i.Attempts) != 11 {
			t.Fatalf("%d attempts, %v", len(i.Attempts), err)
		}
		for _, a := range i.Attempts[:10] {
			if a.Status != record.AttemptUnavailable {
				t.Errorf("attempt %+v", a)
			}
		}
		time.Sleep(time.Minute)
		r.status(complete)
		r.reported("created started progress progress completed")
	})
}

// TestTurnWaitIsOutsideLeaseAndSend: the turn comes after 59 s,
// the acknowledgement 29 s later.
func TestTurnWaitIsOutsideLeaseAndSend(t *testing.T) {
	f := waitsForTurn(59*time.Second, time.Minute)
	f.send = func(ctx context.Context, _ int64, _ event.Outgoing) error {
		select {
		case <-time.After(29 * time.Second):
			return nil
		case <-ctx.Done():
			return event.ErrOutcomeUnknown
		}
	}
	bubble(t, f, func(r *rig) {
		r.create(request(1))
		time.Sleep(89 * time.Second)
		r.status(complete)
	})
}

func TestLeaseStartsWithTheTurn(t *testing.T) {
	f := waitsForTurn(50*time.Second, time.Minute)
	f.send = func(context.Context, int64, event.Outgoing) error {
		time.Sleep(time.Hour)
		return nil
	}
	bubble(t, f, func(r *rig) {
		r.create(request(1))
		time.Sleep(109 * time.Second)
		r.status(process)
		time.Sleep(2 * time.Second)
		r.status(witherr)
		time.Sleep(time.Hour)
	})
}

func TestInterruptionReachesAnItemWaitingForItsTurn(t *testing.T) {
	t.Run("pause", func(t *testing.T) {
		bubble(t, waitsForTurn(24*time.Hour, time.Hour), func(r *rig) {
			r.create(request(2))
			r.status(process)
			r.do(r.e.Pause)
			time.Sleep(time.Second)
			if v := r.status(paused); v.Counts.Pending != 2 {
				t.Errorf("%+v", v.Counts)
			}
			r.reported("created started pause-requested paused")
		})
	})
	t.Run("stop", func(t *testing.T) {
		bubble(t, waitsForTurn(24*time.Hour, time.Hour), func(r *rig) {
			r.create(request(2))
			r.status(process)
			r.do(r.e.StopBatch)
			time.Sleep(time.Second)
			if v := r.status(stopped); v.Counts.Pending != 2 {
				t.Errorf("%+v", v.Counts)
			}
			r.reported("created started stop-requested stopped")
		})
	})
	t.Run("the end of the window", func(t *testing.T) {
		f := waitsForTurn(24*time.Hour, time.Hour)
		bubble(t, f, func(r *rig) {
			req := request(2)
			begin := time.Now()
			req.Schedule = fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":"DAILY"}`,
				begin.Format(time.RFC3339), begin.Add(30*time.Second).Format(time.RFC3339))
			r.create(req)
			time.Sleep(31 * time.Second)
			if v := r.status(waitWin); v.Counts.Pending != 2 {
				t.Errorf("%+v", v.Counts)
			}
		})
	})
	t.Run("the end of the program", func(t *testing.T) {
		f := waitsForTurn(24*time.Hour, time.Hour)
		bubble(t, f, func(r *rig) {
			r.create(request(2))
			r.status(process)
			begin := time.Now()
			r.stop()
			if took := time.Since(begin); took > time.Second {
				t.Errorf("stop took %v", took)
			}
			f.prepare = nil
			r.boot()
			r.status(complete)
			r.reported("created started interrupted recovered resumed progress progress completed")
		})
	})
}

// TestLeavingMessageIsNotCancelled: the call comes while it leaves.
func TestLeavingMessageIsNotCancelled(t *testing.T) {
	f := newFleet(1)
	f.prepare = func(context.Context) error {
		time.Sleep(cancelGrace / 2)
		return nil
	}
	f.send = func(context.Context, int64, event.Outgoing) error {
		time.Sleep(time.Second)
		return nil
	}
	bubble(t, f, func(r *rig) {
		r.create(request(2))
		r.status(process)
		r.do(r.e.Pause)
		time.Sleep(2 * time.Second)
		if v := r.status(paused); v.Counts.Success != 1 || v.Counts.Pending != 1 {
			t.Errorf("%+v", v.Counts)
		}
	})
}

func TestASendThatWasCalledOffCannotLeave(t *testing.T) {
	left := false
	d := departure{now: func() { left = true }}
	if !d.cancel() || !errors.Is(d.leave(), errCalledOff) || left {
		t.Error("it left")
	}
	d = departure{now: func() { left = true }}
	if d.leave() != nil || !left || d.cancel() {
		t.Error("it was called off")
	}
}
