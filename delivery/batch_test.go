package delivery

import (
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

func (r *rig) emitBatch(batch uuid.UUID) (e outbox.Entry) {
	r.t.Helper()
	r.update(func(tx *store.Tx) error {
		return r.box.Emit(tx, outbox.Emission{Kind: event.BatchStarted, Owner: uuid.UUID{1}, Batch: batch, Data: map[string]int{"n": 1}})
	})
	return r.entry(r.newestEntry())
}

func (r *rig) newestEntry() (seq uint64) {
	r.view(func(tx *store.Tx) error {
		var err error
		seq, err = outbox.Newest(tx)
		return err
	})
	return seq
}

func (r *rig) entry(seq uint64) (e outbox.Entry) {
	r.view(func(tx *store.Tx) (err error) {
		if e, _, err = outbox.Get(tx, seq); err == nil {
			e, err = Queued(tx, e)
		}
		return err
	})
	return e
}

func (r *rig) settleBatch(seq uint64, accepted bool, next time.Time) {
	r.t.Helper()
	a := Attempt{StartedAt: time.Now(), Duration: time.Millisecond, Status: 200, RequestID: uuid.NewString(), URL: "https://global.example/in"}
	if !accepted {
		a.Status, a.Error = 503, "status 503"
	}
	r.update(func(tx *store.Tx) error {
		e, found, err := outbox.Head(tx, seq)
		if err == nil && found {
			_, _, err = r.l.Settle(tx, e.Record, a, accepted, next)
		}
		return err
	})
}

// TestBatchEventRecordFollowsItsEntry: the commit of the entry makes it, and the commits
// of its attempts change it.
func TestBatchEventRecordFollowsItsEntry(t *testing.T) {
	r := newRig(t, Config{Log: true, GlobalURL: "https://u:p@global.example/in?token=1"})
	batch := uuid.New()
	e := r.emitBatch(batch)
	rec, found := r.record(e.Record)
	if !found || rec.State != Pending || rec.Lane != OutboxLane || rec.Batch != batch || rec.OutboxSeq != e.Seq ||
		rec.EventID != BatchEventID(e) || rec.URL != "https://global.example/in" || rec.Bytes != len(e.Body) {
		t.Fatalf("%v, %+v", found, rec)
	}
	if due, again := r.due(OutboxLane), r.due(BatchLane); !slices.Equal(due, []uint64{rec.ID}) || len(again) != 0 {
		t.Errorf("due are %v, of repetitions %v", due, again)
	}
	next := time.Now().Add(time.Minute).UTC().Truncate(time.Millisecond)
	r.settleBatch(e.Seq, false, next)
	rec, _ = r.record(e.Record)
	if entry := r.entry(e.Seq); rec.Attempts != 1 || rec.LastStatus != 503 || !rec.NextAttemptAt.Equal(next) || !entry.NextAttemptAt.Equal(next) || entry.Attempts != 1 {
		t.Errorf("after a refusal: %+v, entry %+v", rec, entry)
	}
	r.settleBatch(e.Seq, true, time.Time{})
	rec, _ = r.record(e.Record)
	if entry := r.entry(e.Seq); rec.State != Delivered || rec.Lane != BatchLane || rec.Attempts != 2 || entry.State != outbox.Delivered || entry.Attempts != 2 || len(r.due(OutboxLane)) != 0 {
		t.Errorf("after acceptance: %+v, entry %+v", rec, entry)
	}
	r.settleBatch(e.Seq, false, next) // a straggler
	if again, _ := r.record(e.Record); again.State != Delivered || again.Attempts != 2 {
		t.Errorf("after a straggler: %+v", again)
	}
}

// TestEventOfRemovedBatchIsDeliveredAndLogged: the delivery removes its entry, and its
// record stays.
func TestEventOfRemovedBatchIsDeliveredAndLogged(t *testing.T) {
	r := newRig(t, Config{Log: true})
	batch := uuid.New()
	e := r.emitBatch(batch)
	r.update(func(tx *store.Tx) error { return r.box.Forget(tx, batch) })
	r.settleBatch(e.Seq, true, time.Time{})
	rec, found := r.record(e.Record)
	if !found || rec.State != Delivered || r.entry(e.Seq).Seq != 0 {
		t.Errorf("%v, %+v", found, rec)
	}
	r.update(func(tx *store.Tx) error {
		if _, _, err := r.l.Retry(tx, e.Record); !errors.Is(err, ErrBodyGone) {
			t.Errorf("retry: %v", err)
		}
		return nil
	})
}

// TestDisabledLogKeepsOnlyPendingDeliveries in both flows.
func TestDisabledLogKeepsOnlyPendingDeliveries(t *testing.T) {
	r := newRig(t, Config{})
	batch := r.emitBatch(uuid.New())
	e := r.emit(ana, hook(event.OrderNone))
	for _, id := range []uint64{batch.Record, e.First()} {
		if rec, found := r.record(id); !found || rec.State != Pending {
			t.Errorf("%v, %+v", found, rec)
		}
	}
	r.settleBatch(batch.Seq, true, time.Time{})
	r.settle(e.First(), true, time.Time{})
	for _, id := range []uint64{batch.Record, e.First()} {
		if rec, found := r.record(id); found {
			t.Errorf("left: %+v", rec)
		}
		r.update(func(tx *store.Tx) error {
			if _, _, err := r.l.Retry(tx, id); !errors.Is(err, ErrLogOff) {
				t.Errorf("retry: %v", err)
			}
			return nil
		})
	}
}

// TestARetryOfABatchEvent: a pending event becomes due at once, in the outbox; a delivered
// one is sent again through the lane, with the same bytes.
func TestARetryOfABatchEvent(t *testing.T) {
	r := newRig(t, Config{Log: true})
	e := r.emitBatch(uuid.New())
	r.settleBatch(e.Seq, false, time.Now().Add(time.Hour))
	r.update(func(tx *store.Tx) error {
		rec, due, err := r.l.Retry(tx, e.Record)
		if rec.State != Pending || due == nil || due.OutboxSeq != e.Seq || rec.NextAttemptAt.After(tx.Now()) {
			t.Errorf("%+v, %v", rec, due)
		}
		return err
	})
	if entry := r.entry(e.Seq); entry.NextAttemptAt.After(time.Now()) {
		t.Errorf("the entry is due at %v", entry.NextAttemptAt)
	}
	r.settleBatch(e.Seq, true, time.Time{})
	r.update(func(tx *store.Tx) error {
		_, due, err := r.l.Retry(tx, e.Record)
		if err != nil || due == nil {
			return errors.Join(errors.New("no retry"), err)
		}
		rec, ev, found, err := r.l.Load(tx, e.Record)
		if !found || rec.Former != Delivered || string(ev.Body) != string(e.Body) || ev.ID != BatchEventID(e) || ev.Kind != e.Kind {
			t.Errorf("%v, %+v, %+v", found, rec, ev)
		}
		return err
	})
	if due := r.due(BatchLane); len(due) != 1 {
		t.Errorf("due are %v", due)
	}
	if _, rec := r.settle(e.Record, false, time.Now().Add(time.Hour)); rec.State != Delivered || rec.Attempts != 3 {
		t.Errorf("after the retry failed: %+v", rec)
	}
}

// TestBatchEventIDDerivesFromOwnerAndNumber: of version 8 and SHA-256, and the same for ever.
func TestBatchEventIDDerivesFromOwnerAndNumber(t *testing.T) {
	for n := range uint64(300) {
		e := outbox.Entry{Owner: uuid.New(), OwnerSeq: n << n}
		want := uuid.NewHash(sha256.New(), e.Owner, store.Key(e.OwnerSeq), 8)
		if got := BatchEventID(e); got != want {
			t.Fatalf("event %d of %s is %s, not %s", e.OwnerSeq, e.Owner, got, want)
		}
	}
}
