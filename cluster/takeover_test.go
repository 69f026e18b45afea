package cluster_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/cluster"
	"postern/store"
)

func TestStandbyTakesAReleasedCellWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		if err := a.put("kept"); err != nil {
			t.Fatal(err)
		}
		b := w.process("b", "")
		w.until("b stands by", 2*time.Second, b.standsBy)
		time.Sleep(3 * lease)
		if b.leads() {
			t.Fatal("the standby took a cell whose owner lives")
		}
		a.stop()
		w.until("b leads", time.Second, b.leads)
		if !b.has("kept") {
			t.Error("the new owner lacks what the former one answered")
		}
		if err := b.put("next"); err != nil {
			t.Error(err)
		}
	})
}

func TestStandbyTakesOverAfterALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "")
		w.until("b stands by", 2*time.Second, b.standsBy)
		for i := range 100 {
			if err := a.put(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		a.kill()
		if took := w.until("b leads", lease+time.Second, b.leads); took < lease-lease/6-time.Second {
			t.Errorf("the standby took the cell after %s", took)
		}
		for i := range 100 {
			if !b.has(fmt.Sprint(i)) {
				t.Fatalf("change %d is lost", i)
			}
		}
		again := w.process("a", a.file)
		w.until("a stands by again", lease+3*time.Second, again.standsBy)
	})
}

func TestPausedOwnerActsNoMoreWhenItWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "")
		w.until("b stands by", 2*time.Second, b.standsBy)
		a.db.freeze(true)
		late := make(chan error, 1)
		go func() { late <- a.put("late") }()
		for !b.leads() {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			if a.Valid() && b.Valid() {
				t.Fatal("two nodes may act at once")
			}
		}
		a.db.freeze(false)
		w.until("a ends", 2*time.Second, func() bool { return a.ended.Load() != nil })
		if err := *a.ended.Load(); !errors.Is(err, store.ErrFenced) {
			t.Errorf("it ended with %v", err)
		}
		if err := <-late; err == nil {
			t.Error("a change of a former owner was answered with success")
		}
		if b.has("late") {
			t.Error("a change that was refused happened")
		}
	})
}

func TestOwnerEndsWhenTheDatabaseIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		time.Sleep(time.Minute)
		w.db.SetAway(true)
		outcome := make(chan error, 1)
		go func() { outcome <- a.put("while it is away") }()
		time.Sleep(lease - lease/5 + time.Millisecond)
		if a.Valid() {
			t.Error("a fifth of the lease is left, and the owner acts")
		}
		w.until("a ends", lease/5+time.Second, func() bool { return a.ended.Load() != nil })
		if err := <-outcome; err == nil {
			t.Error("a change was answered while the database was away")
		}
		a.kill()
		b := w.process("b", "")
		time.Sleep(time.Minute)
		if s := b.State(); s.Role != cluster.Connecting || !errors.Is(s.Reason, cluster.ErrUnreachable) {
			t.Errorf("without a database, the node is %s for %v", s.Role, s.Reason)
		}
		w.db.SetAway(false)
		w.until("b leads", lease+3*time.Second, b.leads)
	})
}

func TestOwnerCutOffEndsByTheLeasesEnd(t *testing.T) {
	for _, length := range []time.Duration{3 * time.Second, lease, time.Minute} {
		t.Run(length.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				ended := make(chan time.Time, 1)
				a := w.process("a", "", func(c *cluster.Config) {
					c.Lease, c.Ended = length, func(error) { ended <- time.Now() }
				})
				w.until("a leads", time.Second, a.leads)
				time.Sleep(time.Minute)
				a.db.freeze(true)
				end := time.Now().Add(a.LeaseLeft())
				at := <-ended
				if after := at.Sub(end); after > 0 || after < -length/5 {
					t.Errorf("it ended %s after its lease", after)
				}
			})
		})
	}
}

func TestOwnerEndsSoonAfterItsMachineSlept(t *testing.T) {
	for name, frozen := range map[string]bool{"between two renewals": false, "during a renewal": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const length = time.Minute
				w := newWorld(t)
				var slept atomic.Int64
				ended := make(chan time.Time, 1)
				a := w.process("a", "", func(c *cluster.Config) {
					c.Lease, c.Ended = length, func(error) { ended <- time.Now() }
					c.Awake = func() time.Duration { return time.Since(w.start) + time.Duration(slept.Load()) }
				})
				w.until("a leads", time.Second, a.leads)
				a.db.freeze(frozen)
				time.Sleep(length/6 + time.Second)
				slept.Store(int64(2 * length))
				woke := time.Now()
				if at := <-ended; at.Sub(woke) > 2*time.Second {
					t.Errorf("it ended %s after it woke", at.Sub(woke))
				}
			})
		})
	}
}

func TestShortAbsenceOfTheDatabaseIsSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "")
		w.until("b stands by", 2*time.Second, b.standsBy)
		for i := range 5 {
			w.db.SetAway(true)
			outcome := make(chan error, 1)
			go func() { outcome <- a.put(fmt.Sprint(i)) }()
			time.Sleep(lease / 2)
			if a.Answered() || b.Answered() {
				t.Error("a node says that the database answers, which is away")
			}
			w.db.SetAway(false)
			if err := <-outcome; err != nil {
				t.Error(err)
			}
			time.Sleep(lease)
			if !a.Answered() || !b.Answered() {
				t.Error("a node says that the database does not answer, which is back")
			}
		}
		if b.leads() || a.ended.Load() != nil {
			t.Error("the owner changed")
		}
	})
}
