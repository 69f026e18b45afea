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
	"postern/store"
)

// slow makes a fleet whose sends wait for release or their context.
func slow(release <-chan struct{}) *scripted {
	f := newFleet(1, 2)
	f.send = func(ctx context.Context, _ int64, _ event.Outgoing) error {
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return event.ErrOutcomeUnknown
		}
	}
	return f
}

func TestStopWaitsForTheSendInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, slow(release), nil)
		r.create(request(3))
		r.status(process)
		r.do(r.e.StopBatch)
		r.status(stopping)
		close(release)
		v := r.status(stopped)
		r.reported("created started stop-requested stopped")
		if v.Counts.Success != 1 || v.Counts.Pending != 2 {
			t.Errorf("counts %+v", v.Counts)
		}
		if _, err := r.e.StartBatch(t.Context(), owner, r.batch); !errors.Is(err, ErrInvalidTransition) {
			t.Errorf("start of a stopped batch: %v", err)
		}
		r.stop()
	})
}

func TestShutdownInterruptsAndTheNextStartRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		r.create(delayed(2, time.Hour))
		r.status(process)
		r.stop()
		r.boot()
		v := r.status(complete)
		r.reported("created started progress interrupted recovered resumed progress completed")
		if v.InterruptionReason != nil || v.LastRecoveredAt == nil || v.LastInterruptedAt == nil {
			t.Errorf("view %+v", v)
		}
		r.stop()
	})
}

func TestASendThatOutlivesTheShutdownEndsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slow(nil), nil)
		r.create(request(1))
		r.status(process)
		begin := time.Now()
		r.stop()
		if took := time.Since(begin); took != 15*time.Second {
			t.Errorf("stop took %s", took)
		}
		r.boot()
		r.status(witherr)
		r.reported("created started item.unknown interrupted recovered resumed progress completed-with-errors")
		r.stop()
	})
}

// TestShutdownReturnsAnUnsentItemToPending: a file that is
// being fetched, say. Nothing of the message left, so nothing is in doubt.
func TestShutdownReturnsAnUnsentItemToPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(1)
		f.prepare = func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("%w: %w", event.ErrSendRefused, ctx.Err())
		}
		r := newRig(t, f, nil)
		r.create(request(1))
		r.status(process)
		r.stop()
		f.prepare = nil
		r.boot()
		r.status(complete)
		r.reported("created started interrupted recovered resumed progress completed")
		if n := f.sent["4915100000000@s.whatsapp.net"]; len(f.sent) != 1 {
			t.Errorf("sent %v (%d)", f.sent, n)
		}
		r.stop()
	})
}

func TestItemInSendingAfterCrashIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := slow(release)
		r := newRig(t, f, nil)
		r.create(request(3))
		r.status(process)
		if err := r.s.Close(); err != nil {
			t.Fatal(err)
		}
		close(release) // the message leaves, its result cannot be stored
		synctest.Wait()
		if err := r.e.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		r.boot()
		v := r.status(witherr)
		r.reported("created started item.unknown interrupted recovered resumed progress progress completed-with-errors")
		if i := r.items()[0]; i.Status != record.ItemUnknown || *i.LastErrorCode != "SEND_RESULT_UNKNOWN" {
			t.Errorf("item %+v", i)
		}
		if v.Counts.Unknown != 1 || v.Counts.Success != 2 || len(f.sent) != 3 {
			t.Errorf("counts %+v, sent %d", v.Counts, len(f.sent))
		}
		f.leftOnce(t)
		r.stop()
	})
}

func TestWithoutAutoResumeACrashedBatchStaysInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		req, no := delayed(2, time.Hour), false
		req.AutoResume = &no
		r.create(req)
		r.status(process)
		r.crash()
		r.boot()
		if v := r.status(interr); v.InterruptionReason == nil || *v.InterruptionReason != "LEASE_EXPIRED" {
			t.Errorf("reason %v", v.InterruptionReason)
		}
		r.do(r.e.StartBatch)
		r.status(complete)
		r.reported("created started progress interrupted resumed progress completed")
		r.stop()
	})
}

func TestStuckSendLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(1, 2)
		stuck := make(chan struct{})
		firstSend := true
		f.send = func(context.Context, int64, event.Outgoing) error {
			f.mu.Lock()
			block := firstSend
			firstSend = false
			f.mu.Unlock()
			if block {
				<-stuck // ignores its context
			}
			return nil
		}
		r := newRig(t, f, nil)
		r.create(request(2))
		time.Sleep(61 * time.Second)
		v := r.status(witherr)
		r.reported("created started item.unknown interrupted recovered resumed progress completed-with-errors")
		close(stuck)
		synctest.Wait()
		if after := r.view(); after.Counts != v.Counts && after.UpdatedAt != v.UpdatedAt {
			t.Errorf("the late result changed %+v to %+v", v, after)
		}
		r.stop()
	})
}

func TestAWindowOpensAndEnds(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		req := delayed(3, 40*time.Minute)
		begin := time.Now().Add(time.Hour)
		req.Schedule = fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":"DAILY"}`,
			begin.Format(time.RFC3339), begin.Add(time.Hour).Format(time.RFC3339))
		if v := r.create(req); v.Status != schedul || !v.NextRunAt.Equal(begin) {
			t.Errorf("created %s, next run %v", v.Status, v.NextRunAt)
		}
		time.Sleep(2*time.Hour + time.Minute)
		v := r.status(waitWin)
		if v.Counts.Success != 2 || !v.NextRunAt.Equal(begin.AddDate(0, 0, 1)) {
			t.Errorf("counts %+v, next run %v", v.Counts, v.NextRunAt)
		}
		time.Sleep(23 * time.Hour)
		r.status(complete)
		r.reported("created scheduled window-started started progress progress waiting-window window-started resumed progress completed")
	})
}

func TestSpentWindowIsIgnoredAfterPauseAndStart(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		req := delayed(2, 2*time.Hour)
		req.Schedule = fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":"NONE"}`,
			time.Now().Add(-time.Hour).Format(time.RFC3339), time.Now().Add(time.Hour).Format(time.RFC3339))
		r.create(req)
		time.Sleep(3 * time.Hour)
		if v := r.status(waitWin); v.NextRunAt != nil {
			t.Errorf("next run %v", v.NextRunAt)
		}
		r.do(r.e.Pause)
		r.do(r.e.StartBatch)
		r.status(complete)
		r.reported("created started progress waiting-window pause-requested paused resumed progress completed")
	})
}

func TestDraftEmitsNoEventsBeforeItsStart(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		req, no := request(1), false
		req.AutoStart = &no
		r.create(req)
		r.status(draft)
		r.reported("")
		r.do(r.e.StartBatch)
		r.status(complete)
		r.reported("created started progress completed")
	})
}

func TestAResultThatCannotBeStoredIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(1)
		r := newRig(t, f, func(c *Config) { c.Fleet = unstorable{f} })
		req := request(1)
		r.create(req)
		r.status(witherr)
		r.reported("created started item.unknown progress completed-with-errors")
		r.stop()
	})
}

type unstorable struct{ *scripted }

func (u unstorable) Send(ctx context.Context, i int64, o event.Outgoing) (Receipt, error) {
	r, err := u.scripted.Send(ctx, i, o)
	r.Record = func(*store.Tx) (int64, error) { return 0, errors.New("no room") }
	return r, err
}
