package batch

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/store"
)

// clocked is a rig whose machine has a clock that can be set.
func clocked(t *testing.T, f *scripted, fn func(*rig, *simWatch)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		watch := newWatch()
		s, err := store.Open(store.Options{
			Path: filepath.Join(t.TempDir(), "b.db"), Buckets: withOutbox(), NoSync: true, MinFree: 1, Now: watch.now,
		})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{T: t, f: f, s: s}
		if r.e, err = New(Config{Store: s, Outbox: openOutbox(t, s), Fleet: clockedFleet{f, watch}, Enabled: true, NewMessageID: f.messageID}); err != nil {
			t.Fatal(err)
		}
		r.e.now = watch.now
		if err := r.e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		fn(r, watch)
		r.stop()
	})
}

// clockedFleet has benches by the clock on the wall, as WhatsApp names them, and
// one that is measured by the time awake.
type clockedFleet struct {
	*scripted
	watch *simWatch
}

func (f clockedFleet) Gate(q Question) Gate {
	g := f.gate(q, f.watch.now())
	g.Until = g.Until.Round(0)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limit > 0 && f.count() >= f.limit {
		return Gate{} // or it would never end
	}
	if awake, ok := f.awake[q.Instance]; ok {
		now := f.watch.now()
		g = g.Both(Gate{Until: now.Add(awake.Sub(now))}, now) // by the clock as it is now
	}
	return g
}

// The end that was the nearest when the batch lay down is not the nearest any
// more once the clock is set.
func TestClockChangeWakesABatchWithinAMinute(t *testing.T) {
	for name, by := range map[string]time.Duration{"forwards": 7 * time.Hour, "backwards": -7 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(1, 2)
			clocked(t, f, func(r *rig, watch *simWatch) {
				now := watch.now()
				switch name {
				case "forwards": // by the wall 1 may send first then
					f.bench[1], f.awake[2] = now.Add(6*time.Hour), now.Add(5*time.Hour)
				default: // by the time awake 2 may send first then
					f.bench[1], f.awake[2] = now.Add(5*time.Hour), now.Add(6*time.Hour)
				}
				r.create(request(1))
				r.status(event.BatchWaitingForInstance)
				time.Sleep(time.Hour)
				watch.set(by)
				if name == "backwards" {
					time.Sleep(5*time.Hour - time.Second)
					r.status(event.BatchWaitingForInstance)
				}
				time.Sleep(time.Minute + time.Second)
				r.status(event.BatchIsCompleted)
			})
		})
	}
}

// What is left of the pause is measured by the time awake, whatever else the batch
// waits for.
func TestRetryOfAnInstanceIgnoresClockSetBack(t *testing.T) {
	f := newFleet(1, 2)
	tries := 0
	f.send = func(context.Context, int64, event.Outgoing) error {
		tries++
		return event.ErrNotConnected
	}
	clocked(t, f, func(r *rig, watch *simWatch) {
		f.set(r.e, 1, event.Offline)
		r.create(request(1))
		time.Sleep(3*time.Second + time.Millisecond) // 2 was tried at once, after 1 s and after 2 s more
		watch.set(-7 * time.Hour)
		f.bench[1] = watch.now().Add(time.Hour)
		f.set(r.e, 1, event.Online)
		time.Sleep(4 * time.Second)
		if r.status(event.BatchWaitingForInstance); tries != 4 {
			t.Errorf("tried %d times", tries)
		}
	})
}

// A gate for strangers that is shut until the end of the day is asked once a look,
// whatever day it is by now.
func TestClockSetBackCausesNoPolling(t *testing.T) {
	f := newFleet(1, 2)
	clocked(t, f, func(r *rig, watch *simWatch) {
		begin := watch.now().Round(0)
		f.lock[1], f.lock[2] = begin.Add(12*time.Hour), begin.Add(12*time.Hour)
		r.create(request(5))
		time.Sleep(time.Hour)
		f.mu.Lock()
		f.lock[1], f.lock[2] = begin.Add(-time.Minute), begin.Add(-time.Minute)
		f.limit = f.count() + 1000
		f.mu.Unlock()
		watch.set(-5 * time.Hour)
		time.Sleep(time.Hour)
		r.status(event.BatchWaitingForInstance)
		time.Sleep(3 * time.Hour)
		r.status(event.BatchIsCompleted)
		if n := f.questions(); n >= f.limit {
			t.Errorf("asked %d times", n)
		}
	})
}

// What a gate answers may depend on the clock in other ways than its end: a day
// that was full is another day.
func TestClockChangeAsksTheGateWithinAMinute(t *testing.T) {
	f := newFleet(1, 2)
	clocked(t, f, func(r *rig, watch *simWatch) {
		f.bench[1], f.bench[2] = watch.now().Add(20*time.Hour), watch.now().Add(20*time.Hour)
		r.create(request(1))
		r.status(event.BatchWaitingForInstance)
		time.Sleep(time.Hour)
		f.mu.Lock()
		clear(f.bench)
		f.mu.Unlock()
		watch.set(-3 * time.Hour)
		time.Sleep(time.Minute)
		r.status(event.BatchIsCompleted)
	})
}

// A wrong clock that is corrected gives a batch its window again.
func TestClockSetBackReopensAWindow(t *testing.T) {
	f := newFleet(1, 2)
	clocked(t, f, func(r *rig, watch *simWatch) {
		req := request(2)
		req.Schedule = window(time.Hour, 2*time.Hour, "NONE")
		r.create(req)
		watch.set(5 * time.Hour)
		time.Sleep(time.Minute)
		if v := r.status(event.BatchIsScheduled); v.NextRunAt != nil {
			t.Errorf("it goes on at %s", v.NextRunAt)
		}
		watch.set(-5 * time.Hour)
		time.Sleep(2 * time.Minute)
		if v := r.status(event.BatchIsScheduled); v.NextRunAt == nil {
			t.Error("it goes on never")
		}
		time.Sleep(time.Hour)
		r.status(event.BatchIsCompleted)
	})
}

// The next window is no reason to go on sooner than the delay says.
func TestClockChangeKeepsTheDelay(t *testing.T) {
	f := newFleet(1, 2)
	clocked(t, f, func(r *rig, watch *simWatch) {
		req := delayed(2, 10*time.Minute)
		req.Schedule = window(-time.Hour, 5*time.Hour, "DAILY")
		r.create(req)
		synctest.Wait()
		watch.set(24 * time.Hour)
		time.Sleep(5 * time.Minute)
		watch.set(-30 * time.Minute)
		time.Sleep(5*time.Minute - time.Second)
		r.status(event.BatchProcessing)
		time.Sleep(time.Second)
		r.status(event.BatchIsCompleted)
	})
}
