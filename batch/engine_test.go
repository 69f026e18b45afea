package batch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/record"
	"postern/event"
)

func bubble(t *testing.T, f *scripted, fn func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, f, nil)
		fn(r)
		r.stop()
		f.leftOnce(t)
	})
}

func TestABatchSendsEveryItemOnceAndCompletes(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		r.create(request(4))
		v := r.status(complete)
		r.reported("created started progress progress progress progress completed")
		if len(r.f.sent) != 4 || v.Progress != 100 || v.Counts.Success != 4 || v.CompletedAt == nil {
			t.Errorf("sent %d, view %+v", len(r.f.sent), v)
		}
		if n := v.Instances[0].SelectedCount + v.Instances[1].SelectedCount; n != 4 {
			t.Errorf("selected %d of 4", n)
		}
		for _, i := range r.items() {
			if i.Status != record.ItemSuccess || i.AttemptCount != 1 || *i.WhatsAppMessageID != *i.ClientMessageID || i.FinishedAt == nil {
				t.Errorf("item %+v", i)
			}
			full, err := r.e.Item(owner, r.batch, i.ID)
			if err != nil || len(full.Attempts) != 1 || full.Attempts[0].Status != record.AttemptSuccess {
				t.Errorf("item with attempts: %+v, %v", full, err)
			}
		}
	})
}

func TestEverySendOutcomeHasAnItemStatus(t *testing.T) {
	for _, tc := range []struct {
		rule   string
		err    error
		skip   bool
		want   record.ItemStatus
		code   string
		status event.BatchStatus
		events string
	}{
		{"refused is FAILED", event.ErrSendRefused, false, record.ItemFailed, "SEND_MESSAGE_FAILED", witherr, "created started item.failed progress completed-with-errors"},
		{"not on WhatsApp is FAILED", event.ErrNotOnWhatsApp, false, record.ItemFailed, "SEND_MESSAGE_FAILED", witherr, "created started item.failed progress completed-with-errors"},
		{"not on WhatsApp is SKIPPED when asked", event.ErrNotOnWhatsApp, true, record.ItemSkipped, "RECIPIENT_NOT_ON_WHATSAPP", complete, "created started progress completed"},
		{"unknown is UNKNOWN", event.ErrOutcomeUnknown, false, record.ItemUnknown, "SEND_RESULT_UNKNOWN", witherr, "created started item.unknown progress completed-with-errors"},
		{"any other error is UNKNOWN", errors.New("odd"), false, record.ItemUnknown, "SEND_RESULT_UNKNOWN", witherr, "created started item.unknown progress completed-with-errors"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			f := newFleet(1, 2)
			f.send = func(context.Context, int64, event.Outgoing) error { return fmt.Errorf("send: %w", tc.err) }
			bubble(t, f, func(r *rig) {
				req := request(1)
				req.Options.SkipUnregistered = tc.skip
				r.create(req)
				r.status(tc.status)
				r.reported(tc.events)
				if i := r.items()[0]; i.Status != tc.want || *i.LastErrorCode != tc.code {
					t.Errorf("item %s %s", i.Status, *i.LastErrorCode)
				}
			})
		})
	}
}

func TestBatchWaitsUntilAnInstanceIsOnline(t *testing.T) {
	f := newFleet(1, 2)
	f.states[1], f.states[2] = event.Reconnecting, event.Offline
	bubble(t, f, func(r *rig) {
		r.create(request(2))
		r.status(waitInst)
		r.reported("created waiting-instance")
		f.set(r.e, 2, event.Online)
		r.status(complete)
		r.reported("created waiting-instance started progress progress completed")
	})
}

func TestDroppedInstanceCostsAnAttempt(t *testing.T) {
	f := newFleet(1, 2)
	f.send = func(_ context.Context, instance int64, _ event.Outgoing) error {
		if instance == 1 {
			f.mu.Lock()
			f.states[1] = event.Reconnecting
			f.mu.Unlock()
			return event.ErrNotConnected
		}
		return nil
	}
	bubble(t, f, func(r *rig) {
		r.create(request(40))
		v := r.status(complete)
		unavailable, err := r.e.Attempts(owner, r.batch, ItemFilter{Status: []string{string(record.AttemptUnavailable)}}, Page{})
		if err != nil || unavailable.TotalRecords != 1 {
			t.Fatalf("%d unavailable attempts, %v", unavailable.TotalRecords, err)
		}
		if v.Instances[0].SelectedCount != 0 || v.Instances[1].SuccessCount != 40 {
			t.Errorf("shares %+v", v.Instances)
		}
	})
}

func TestLastInstanceDropReturnsTheItem(t *testing.T) {
	f := newFleet(1)
	down := true
	f.send = func(context.Context, int64, event.Outgoing) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if down {
			f.states[1] = event.Reconnecting
			return event.ErrNotConnected
		}
		return nil
	}
	bubble(t, f, func(r *rig) {
		r.create(request(1))
		v := r.status(waitInst)
		if i := r.items()[0]; i.Status != record.ItemPending || i.AttemptCount != 1 || v.Counts.Pending != 1 {
			t.Errorf("item %+v counts %+v", i, v.Counts)
		}
		f.mu.Lock()
		down = false
		f.mu.Unlock()
		f.set(r.e, 1, event.Online)
		time.Sleep(2 * dropRetry)
		r.status(complete)
		r.reported("created started waiting-instance resumed progress completed")
	})
}

func TestPauseEndsTheDelayAndStartResumes(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		r.create(delayed(2, time.Hour))
		v := r.status(process)
		if v.Counts.Sending != 0 || v.Counts.Success != 1 {
			t.Errorf("an item is in doubt during a delay: %+v", v.Counts)
		}
		if v := r.do(r.e.Pause); v.Status != pausing {
			t.Errorf("pause answered %s", v.Status)
		}
		r.status(paused)
		r.do(r.e.Pause)
		r.do(r.e.StartBatch)
		r.status(complete)
		r.reported("created started progress pause-requested paused resumed progress completed")
	})
}

func TestCallWithoutEffectKeepsTheDelay(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		r.create(delayed(2, time.Hour))
		r.status(process)
		for range 3 {
			r.do(r.e.StartBatch)
			r.e.wake(r.batch)
			time.Sleep(19 * time.Minute)
			if v := r.status(process); v.Counts.Success != 1 {
				t.Fatalf("the next item went out within its delay: %+v", v.Counts)
			}
		}
		time.Sleep(4 * time.Minute)
		r.status(complete)
	})
}

func TestTheDelayLiesInItsRange(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		req := request(20)
		req.Options.Delay = event.BatchDelay{MinMs: 1000, MaxMs: 3000}
		begin := time.Now()
		r.create(req)
		time.Sleep(time.Minute)
		v := r.status(complete)
		if took := v.CompletedAt.Sub(begin); took < 19*time.Second || took > 57*time.Second {
			t.Errorf("20 items took %s", took)
		}
		for _, i := range r.items()[:19] {
			if i.SelectedDelayMs == nil || *i.SelectedDelayMs < 1000 || *i.SelectedDelayMs > 3000 {
				t.Errorf("item %d: delay %v", i.Position, i.SelectedDelayMs)
			}
		}
	})
}
