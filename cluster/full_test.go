package cluster_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/cluster"
	"postern/store"
)

// disk is that of a process.
type disk struct {
	full, leaves atomic.Bool
}

func (d *disk) of(c *cluster.Config) {
	c.DiskFull = func(*store.Store) bool { return d.full.Load() }
	c.HandOver = func() { d.leaves.Store(true) }
}

func TestOwnerWithAFullDiskHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var ofA, ofB disk
		a := w.process("a", "", ofA.of)
		w.until("a leads", time.Second, a.leads)
		ofA.full.Store(true)
		time.Sleep(time.Minute)
		if ofA.leaves.Load() {
			t.Fatal("an owner without a standby stops")
		}
		b := w.process("b", "", ofB.of)
		w.until("a hands over", 5*time.Second, ofA.leaves.Load)
		a.stop()
		w.until("b leads", time.Second, b.leads)

		a = w.process("a", a.file, ofA.of)
		w.until("a stands by", 2*time.Second, func() bool { return a.State().Role == cluster.Standby })
		if err := b.put("more"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if s := a.State(); !s.Full || s.Behind == 0 || s.Role != cluster.Standby {
			t.Errorf("a standby with a full disk follows: %+v", s)
		}
		ofB.full.Store(true)
		time.Sleep(2 * time.Hour)
		if ofB.leaves.Load() {
			t.Fatal("an owner hands over to a standby whose disk is full")
		}
		ofB.full.Store(false)
		ofA.full.Store(false)
		w.until("a follows again", 2*time.Second, a.standsBy)
	})
}

func TestCellIsHandedOverOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var ofA, ofB disk
		a := w.process("a", "", ofA.of)
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "", ofB.of)
		w.until("b stands by", 2*time.Second, b.standsBy)
		ofA.full.Store(true)
		w.until("a hands over", 5*time.Second, ofA.leaves.Load)
		a.stop()
		w.until("b leads", time.Second, b.leads)
		ofA.full.Store(false)
		a = w.process("a", a.file, ofA.of)
		w.until("a stands by", 2*time.Second, a.standsBy)
		ofB.full.Store(true)
		time.Sleep(59 * time.Minute)
		if ofB.leaves.Load() {
			t.Fatal("the cell is handed over twice within an hour")
		}
		w.until("b hands over", 2*time.Minute, ofB.leaves.Load)
	})
}

func TestStandbyWithRoomGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var ofB disk
		a := w.process("a", "")
		w.until("a leads", time.Second, a.leads)
		b := w.process("b", "", ofB.of)
		w.until("b stands by", 2*time.Second, b.standsBy)
		c := w.process("c", "")
		w.until("c stands by", 2*time.Second, c.standsBy)
		ofB.full.Store(true)
		time.Sleep(5 * time.Second)
		a.kill()
		w.until("c leads", lease+2*time.Second, c.leads)
		if err := c.put("kept"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		c.kill()
		w.until("b leads when there is no other", 3*lease, b.leads)
		if !b.has("kept") {
			t.Error("the new owner lacks a change")
		}
	})
}
