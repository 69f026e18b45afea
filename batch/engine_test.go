package batch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/store"
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
		r.told("created started progress progress progress progress completed")
		if len(r.f.sent) != 4 || v.Progress != 100 || v.Counts.Success != 4 || v.CompletedAt == nil {
			t.Errorf("sent %d, view %+v", len(r.f.sent), v)
		}
		if n := v.Instances[0].SelectedCount + v.Instances[1].SelectedCount; n != 4 {
			t.Errorf("selected %d of 4", n)
		}
		for _, i := range r.items() {
			if i.Status != ItemSuccess || i.AttemptCount != 1 || *i.WhatsAppMessageID != *i.ClientMessageID || i.FinishedAt == nil {
				t.Errorf("item %+v", i)
			}
			full, err := r.e.Item(owner, r.batch, i.ID)
			if err != nil || len(full.Attempts) != 1 || full.Attempts[0].Status != AttemptSuccess {
				t.Errorf("item with attempts: %+v, %v", full, err)
			}
		}
	})
}

func TestEachOutcomeOfASendHasItsItemStatus(t *testing.T) {
	for _, tc := range []struct {
		rule   string
		err    error
		skip   bool
		want   ItemStatus
		code   string
		status event.BatchStatus
		events string
	}{
		{"refused is FAILED", event.ErrSendRefused, false, ItemFailed, "SEND_MESSAGE_FAILED", witherr, "created started item.failed progress completed-with-errors"},
		{"not on WhatsApp is FAILED", event.ErrNotOnWhatsApp, false, ItemFailed, "SEND_MESSAGE_FAILED", witherr, "created started item.failed progress completed-with-errors"},
		{"not on WhatsApp is SKIPPED when asked", event.ErrNotOnWhatsApp, true, ItemSkipped, "RECIPIENT_NOT_ON_WHATSAPP", complete, "created started progress completed"},
		{"unknown is UNKNOWN", event.ErrOutcomeUnknown, false, ItemUnknown, "SEND_RESULT_UNKNOWN", witherr, "created started item.unknown progress completed-with-errors"},
		{"any other error is UNKNOWN", errors.New("odd"), false, ItemUnknown, "SEND_RESULT_UNKNOWN", witherr, "created started item.unknown progress completed-with-errors"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			f := newFleet(1, 2)
			f.send = func(context.Context, int64, event.Outgoing) error { return fmt.Errorf("send: %w", tc.err) }
			bubble(t, f, func(r *rig) {
				req := request(1)
				req.Options.SkipUnregistered = tc.skip
				r.create(req)
				r.status(tc.status)
				r.told(tc.events)
				if i := r.items()[0]; i.Status != tc.want || *i.LastErrorCode != tc.code {
					t.Errorf("item %s %s", i.Status, *i.LastErrorCode)
				}
			})
		})
	}
}

func TestNoInstanceOnlineParksTheBatchUntilOneComes(t *testing.T) {
	f := newFleet(1, 2)
	f.states[1], f.states[2] = event.Reconnecting, event.Offline
	bubble(t, f, func(r *rig) {
		r.create(request(2))
		r.status(waitInst)
		r.told("created waiting-instance")
		f.set(r.e, 2, event.Online)
		r.status(complete)
		r.told("created waiting-instance started progress progress completed")
	})
}

func TestADroppedInstanceCostsAnAttemptAndAnotherIsTried(t *testing.T) {
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
		unavailable, err := r.e.Attempts(owner, r.batch, ItemFilter{Status: []string{string(AttemptUnavailable)}}, Page{})
		if err != nil || unavailable.TotalRecords != 1 {
			t.Fatalf("%d unavailable attempts, %v", unavailable.TotalRecords, err)
		}
		if v.Instances[0].SelectedCount != 0 || v.Instances[1].SuccessCount != 40 {
			t.Errorf("shares %+v", v.Instances)
		}
	})
}

func TestTheLastInstanceDropsAndTheItemGoesBack(t *testing.T) {
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
		if i := r.items()[0]; i.Status != ItemPending || i.AttemptCount != 1 || v.Counts.Pending != 1 {
			t.Errorf("item %+v counts %+v", i, v.Counts)
		}
		f.mu.Lock()
		down = false
		f.mu.Unlock()
		f.set(r.e, 1, event.Online)
		time.Sleep(2 * dropRetry)
		r.status(complete)
		r.told("created started waiting-instance resumed progress completed")
	})
}

func TestPauseEndsTheDelayAndStartGoesOn(t *testing.T) {
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
		r.told("created started progress pause-requested paused resumed progress completed")
	})
}

func TestADelayIsNotCutShortByACallThatChangesNothing(t *testing.T) {
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

func TestStopWaitsForTheSendInFlightAndLeavesTheRestPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, slow(release), nil)
		r.create(request(3))
		r.status(process)
		r.do(r.e.StopBatch)
		r.status(stopping)
		close(release)
		v := r.status(stopped)
		r.told("created started stop-requested stopped")
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
		r.told("created started progress interrupted recovered resumed progress completed")
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
		r.told("created started item.unknown interrupted recovered resumed progress completed-with-errors")
		r.stop()
	})
}

func TestAnItemInSendingAtACrashIsUnknownAndNeverSentAgain(t *testing.T) {
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
		r.told("created started item.unknown interrupted recovered resumed progress progress completed-with-errors")
		if i := r.items()[0]; i.Status != ItemUnknown || *i.LastErrorCode != "SEND_RESULT_UNKNOWN" {
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
		r.told("created started progress interrupted resumed progress completed")
		r.stop()
	})
}

func TestAStuckSendLosesItsLeaseAndChangesNothingLater(t *testing.T) {
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
		r.told("created started item.unknown interrupted recovered resumed progress completed-with-errors")
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
		r.told("created scheduled window-started started progress progress waiting-window window-started resumed progress completed")
	})
}

func TestASpentWindowIsIgnoredAfterPauseAndStart(t *testing.T) {
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
		r.told("created started progress waiting-window pause-requested paused resumed progress completed")
	})
}

func TestADraftTellsNothingUntilItIsStarted(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		req, no := request(1), false
		req.AutoStart = &no
		r.create(req)
		r.status(draft)
		r.told("")
		r.do(r.e.StartBatch)
		r.status(complete)
		r.told("created started progress completed")
	})
}

func TestAResultThatCannotBeStoredIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(1)
		r := newRig(t, f, func(c *Config) { c.Fleet = unstorable{f} })
		req := request(1)
		r.create(req)
		r.status(witherr)
		r.told("created started item.unknown progress completed-with-errors")
		r.stop()
	})
}

type unstorable struct{ *scripted }

func (u unstorable) Send(ctx context.Context, i int64, o event.Outgoing) (Receipt, error) {
	r, err := u.scripted.Send(ctx, i, o)
	r.Record = func(*store.Tx) (int64, error) { return 0, errors.New("no room") }
	return r, err
}
