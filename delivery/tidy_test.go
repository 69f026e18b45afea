package delivery

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

func (r *rig) start() {
	r.t.Helper()
	if err := r.l.Start(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	l := r.l
	r.t.Cleanup(func() { _ = l.Stop(context.Background()) })
}

func (r *rig) wait(what string, until func() bool) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); !until(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s: not in 20 s", what)
		}
	}
}

// TestMoreThanMayWaitIsCancelled: the oldest deliveries of the instance with the largest backlog
// are cancelled, Config.Ended receives them, and the count matches.
func TestMoreThanMayWaitIsCancelled(t *testing.T) {
	var told atomic.Int64
	r := newRig(t, Config{Log: true, DurableMaxBytes: 1000, Ended: func(all []Ended) { told.Add(int64(len(all))) }})
	r.start()
	small := r.emit(ana, hook(event.OrderChat))
	var many []Event
	for range 60 {
		r.update(func(tx *store.Tx) error {
			e, err := r.l.Emit(tx, testEvent(2, ana), false, []event.Destination{global(event.OrderChat)})
			many = append(many, e)
			return err
		})
	}
	r.wait("room", func() bool { return told.Load() == 60-36 && r.l.Shed() == 60-36 }) // 27 bytes each
	for i, e := range many {
		rec, found := r.record(e.First())
		want := Pending
		if i < 60-36 {
			want = Cancelled
		}
		if !found || rec.State != want || want == Cancelled && rec.LastError != ReasonCapacity {
			t.Errorf("event %d: %+v", i, rec)
		}
	}
	if rec, _ := r.record(small.First()); rec.State != Pending {
		t.Errorf("of who holds little: %+v", rec)
	}
}

// TestBacklogAtItsLimitIsLookedAtAgain: a delivery that one commit adds while it cancels others
// is cancelled in turn, though the sum of that commit is zero.
func TestBacklogAtItsLimitIsLookedAtAgain(t *testing.T) {
	r := newRig(t, Config{Log: true, DurableMaxBytes: 1000})
	for range 1000/27 + 1 {
		r.emit(ana, hook(event.OrderChat))
	}
	<-r.l.kicks // the ledger is not started: nothing else reads it
	r.update(func(tx *store.Tx) error {
		ended, _, err := r.l.shedSome(tx, tidyStep)
		if err != nil || len(ended) != 1 {
			t.Fatalf("cancelled %d, %v", len(ended), err)
		}
		_, err = r.l.Emit(tx, testEvent(2, ana), false, []event.Destination{hook(event.OrderChat)})
		return err
	})
	if len(r.l.kicks) != 1 || !r.l.untidy() {
		t.Errorf("kicks %d, untidy %v", len(r.l.kicks), r.l.untidy())
	}
}

// TestEverythingOfADeletedInstanceGoes, also if the program ends during the removal. Other
// instances lose nothing.
func TestEverythingOfADeletedInstanceGoes(t *testing.T) {
	r := newRig(t, Config{Log: true})
	to := []event.Destination{hook(event.OrderChat), endpoint("crm", event.OrderNone), global(event.OrderInstance)}
	other := func() Event {
		var e Event
		r.update(func(tx *store.Tx) (err error) {
			e, err = r.l.Emit(tx, testEvent(2, ana), true, to)
			return err
		})
		return e
	}()
	for i := range 300 {
		e := r.emit(ana, to...)
		if i%2 == 0 {
			r.settle(e.First()+1, i%4 == 0, time.Now().Add(time.Hour))
		}
	}
	r.update(func(tx *store.Tx) error { return r.l.ForgetInstance(tx, 1) })
	r.reopen()
	r.start()
	r.wait("gone", func() (gone bool) {
		r.view(func(tx *store.Tx) error {
			instance, err := forgotten(tx)
			gone = instance == 0
			return err
		})
		return gone
	})
	r.view(func(tx *store.Tx) error {
		want := map[string]int{events: 1, dues: 3, heads: 4, lines: 2, positions: 1, newest: 1, attempts: 0, forgets: 0, holds: 0, backlogs: 4}
		for bucket, want := range want {
			if rows, err := tx.Count(bucket, nil); rows != want || err != nil {
				t.Errorf("%s has %d rows, want %d, %v", bucket, rows, want, err)
			}
		}
		_, _, found, err := r.l.Load(tx, other.First())
		if !found {
			t.Error("the other instance's delivery is gone")
		}
		return err
	})
}

// TestDeliveryHasTheEmittedEvent, with what its headers need.
func TestDeliveryHasTheEmittedEvent(t *testing.T) {
	r := newRig(t, Config{Log: true})
	e := r.emit(ana, hook(event.OrderNone), global(event.OrderNone))
	r.view(func(tx *store.Tx) error {
		rec, got, found, err := r.l.Load(tx, e.First()+1)
		if !found || err != nil {
			t.Fatal(found, err)
		}
		if rec.Lane != GlobalLane || got.ID != e.ID || string(got.Body) != string(e.Body) || got.Name != "shop" || got.OwnerJID == "" ||
			got.Instance != 1 || got.Sequence != 1 || got.About != ana || len(got.To) != 2 {
			t.Errorf("%+v, %+v", rec, got)
		}
		return nil
	})
	r.update(func(tx *store.Tx) error { return tx.Delete(events, store.Key(e.Seq)) })
	r.update(func(tx *store.Tx) error {
		if _, _, found, err := r.l.Load(tx, e.First()); found || !errors.Is(err, ErrBodyGone) {
			t.Errorf("%v, %v", found, err)
		}
		_, err := r.l.Lose(tx, laneBy(tagWebhook, 1, ""), e.First(), "BODY_GONE")
		return err
	})
	if rec, _ := r.record(e.First()); rec.State != Cancelled || rec.LastError != "BODY_GONE" {
		t.Errorf("%+v", rec)
	}
}

// TestADroppedDeliveryThatIsRetriedHasFailed, because an attempt was then made.
func TestADroppedDeliveryThatIsRetriedHasFailed(t *testing.T) {
	r := newRig(t, Config{Log: true})
	e := r.emit(ana, hook(event.OrderNone))
	r.settle(e.First(), true, time.Time{})
	r.update(func(tx *store.Tx) error {
		old, _, err := Find(tx, e.First())
		rec := old
		rec.State = Dropped
		return errors.Join(err, r.l.putRecord(tx, rec, &old))
	})
	r.update(func(tx *store.Tx) error {
		_, _, err := r.l.Retry(tx, e.First())
		return err
	})
	if _, rec := r.settle(e.First(), false, time.Now().Add(time.Hour)); rec.State != Failed || rec.Former != "" {
		t.Errorf("%+v", rec)
	}
}

// TestAnIDIsNotGivenTwice, not even that of a removed record, and not after a restart.
func TestAnIDIsNotGivenTwice(t *testing.T) {
	r := newRig(t, Config{})
	first := r.emit(ana, hook(event.OrderNone)).First()
	r.settle(first, true, time.Time{})
	r.reopen()
	if second := r.emit(ana, hook(event.OrderNone)).First(); second <= first {
		t.Errorf("%d, then %d", first, second)
	}
}

// TestUnnumberedEventGoesWithItsLastDelivery, because it can no longer be read. A
// numbered event stays, and the event of a delivery that was not accepted stays with its record.
func TestUnnumberedEventGoesWithItsLastDelivery(t *testing.T) {
	r := newRig(t, Config{Log: true})
	emit := func(numbered bool) (e Event) {
		r.update(func(tx *store.Tx) (err error) {
			e, err = r.l.Emit(tx, testEvent(1, ana), numbered, []event.Destination{hook(event.OrderNone), global(event.OrderNone)})
			return err
		})
		return e
	}
	kept := func(e Event) (is bool) {
		r.view(func(tx *store.Tx) error {
			is = tx.Has(events, store.Key(e.Seq))
			return nil
		})
		return is
	}
	plain, failed, numbered := emit(false), emit(false), emit(true)
	for _, e := range []Event{plain, failed, numbered} {
		r.settle(e.First(), true, time.Time{})
		if !kept(e) {
			t.Errorf("event %d is gone before its second delivery", e.Seq)
		}
	}
	r.settle(plain.First()+1, true, time.Time{})
	r.settle(failed.First()+1, false, time.Time{})
	r.settle(numbered.First()+1, true, time.Time{})
	if kept(plain) || !kept(failed) || !kept(numbered) {
		t.Errorf("kept: %v %v %v", kept(plain), kept(failed), kept(numbered))
	}
}
