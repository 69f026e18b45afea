package logbook

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// all returns the ids of all records, the newest first.
func (r *rig) all() (ids []uint64) {
	for _, rec := range r.list(delivery.Filter{}) {
		ids = append(ids, rec.ID)
	}
	return ids
}

func (r *rig) pruneAt(at time.Time) (oldest time.Time) {
	r.t.Helper()
	oldest, err := r.log.pruneAged(r.t.(*testing.T).Context(), at.Add(-r.log.cfg.Retention))
	if err != nil {
		r.t.Fatal(err)
	}
	return oldest
}

func TestRecordIsKeptForRetentionAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options{Log: true, Retention: 10 * time.Hour})
		defer r.s.Close()
		r.log.Queued(notice(1), oldWay()).Done(delivery.Delivered, delivery.Attempt{StartedAt: time.Now()})
		r.flush()
		late := r.emit(event.About{}, hook(event.OrderNone))    // ends after seven hours
		waiting := r.emit(event.About{}, hook(event.OrderNone)) // never
		time.Sleep(7 * time.Hour)
		r.settle(late.First(), true, time.Time{})
		time.Sleep(4 * time.Hour)
		oldest := r.pruneAt(time.Now())
		if got := r.all(); !slices.Equal(got, []uint64{waiting.First(), late.First()}) {
			t.Errorf("after eleven hours there are %v", got)
		}
		if left := time.Since(oldest); left > 4*time.Hour || left < 4*time.Hour-time.Minute {
			t.Errorf("the oldest is said to have ended %s ago", left)
		}
		time.Sleep(6*time.Hour + time.Minute)
		if oldest := r.pruneAt(time.Now()); !oldest.IsZero() {
			t.Errorf("the oldest is said to have ended at %s", oldest)
		}
		if got := r.all(); !slices.Equal(got, []uint64{waiting.First()}) {
			t.Errorf("after seventeen hours there are %v", got)
		}
		r.view(func(tx *store.Tx) error {
			if n, err := tx.Count(events, nil); n != 1 || err != nil {
				t.Errorf("%d events, %v", n, err)
			}
			return nil
		})
	})
}

func TestOldestEndedRecordsAreRemovedFirst(t *testing.T) {
	r := newRig(t, options{Log: true, MaxEntries: 100})
	waiting := r.emit(event.About{}, hook(event.OrderNone)).First()
	ids := r.failed(1, 1200) // more than a step
	r.flush()
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.stop(t.Context())
	want := append([]uint64{waiting}, ids[1100:]...)
	slices.Reverse(want)
	waitFor(t, func() bool { return slices.Equal(r.all(), want) })
	newer := r.failed(1, 150)
	want = append([]uint64{waiting}, newer[50:]...)
	slices.Reverse(want)
	waitFor(t, func() bool { return slices.Equal(r.all(), want) })
}

func TestTheDamagedGoWithTheRetention(t *testing.T) {
	r := newRig(t, options{Log: true})
	id := r.failed(1, 1)[0]
	r.flush()
	r.update(func(tx *store.Tx) error { return tx.Put(records, store.Key(id), []byte{0xff}) })
	if page, err := r.log.List(t.Context(), delivery.Filter{Instance: 1}, "", 10); err != nil || len(page.Records) != 0 || page.Total != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	r.pruneAt(time.Now().Add(2 * DefaultRetention))
	for _, bucket := range []string{records, bodies, digests} {
		r.view(func(tx *store.Tx) error {
			if n, _ := tx.Count(bucket, nil); n != 0 {
				t.Errorf("%s has %d rows", bucket, n)
			}
			return nil
		})
	}
	if sum, err := r.log.Counts(t.Context()); err != nil || sum[delivery.Failed] != 0 {
		t.Errorf("%v, %v", sum, err)
	}
}

func TestTheNewestThousandAttemptsAreKept(t *testing.T) {
	r := newRig(t, options{Log: true})
	e := r.emit(event.About{}, hook(event.OrderNone))
	id, first := e.First(), ""
	const more = 24*30 + 300
	for i := range more {
		_, rec := r.settle(id, false, time.Now())
		if i == 0 {
			first = rec.RequestID
		}
	}
	rec, all, _, err := r.log.Record(t.Context(), id)
	if err != nil || rec.Attempts != more || len(all) != 1000 {
		t.Fatalf("%d of %d attempts, %v", len(all), rec.Attempts, err)
	}
	for i, a := range all {
		if a.Number != more-1000+1+i || a.Status != 503 || a.Error != "status 503" || a.Answer != "no" || a.RequestID == "" {
			t.Fatalf("attempt %d is %+v", i, a)
		}
	}
	for _, c := range []struct {
		id   string
		want int
	}{{first, 1}, {all[0].RequestID, 1}, {all[500].RequestID, 1}, {rec.RequestID, 1}, {uuid.NewString(), 0}} {
		page, err := r.log.List(t.Context(), delivery.Filter{Query: c.id}, "", 10)
		if c.id == first {
			c.want = 0 // that attempt is forgotten
		}
		if err != nil || len(page.Records) != c.want || page.Total != c.want {
			t.Errorf("%d records of %s, want %d, %v", page.Total, c.id, c.want, err)
		}
	}
	if err := r.log.remove(t.Context(), []uint64{id}); err != nil {
		t.Fatal(err)
	}
	r.update(func(tx *store.Tx) error {
		_, _, err := r.l.CancelLane(tx, rec.Lane, delivery.ReasonRemoved, 10)
		return err
	})
	if err := r.log.remove(t.Context(), []uint64{id}); err != nil {
		t.Fatal(err)
	}
	r.view(func(tx *store.Tx) error {
		kept, errKept := tx.Count(attempts, nil)
		index, errIndex := tx.Count(requests, nil)
		if kept+index > 0 {
			t.Errorf("%d attempts and %d request ids are left", kept, index)
		}
		return errors.Join(errKept, errIndex)
	})
}

func TestLastAnswerIsKeptBesideTheEndReason(t *testing.T) {
	r := newRig(t, options{Log: true})
	id := r.emit(event.About{}, hook(event.OrderNone)).First()
	r.settle(id, false, time.Now())
	_, rec := r.settle(id, false, time.Now())
	r.update(func(tx *store.Tx) error {
		_, _, err := r.l.CancelLane(tx, rec.Lane, delivery.ReasonRemoved, 10)
		return err
	})
	got, all, _, err := r.log.Record(t.Context(), id)
	if err != nil || got.State != delivery.Cancelled || got.LastError != delivery.ReasonRemoved || len(all) != 2 {
		t.Fatalf("%+v, %+v, %v", got, all, err)
	}
	for i, a := range all {
		if a.Number != i+1 || a.Error != "status 503" || a.Answer != "no" {
			t.Errorf("%+v", a)
		}
	}
}

func TestARepetitionMakesNoRecordOlderOrYounger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := oldSettings().config()
		cfg.Retention = 10 * time.Hour
		r := newRig(t, cfg)
		defer r.s.Close()
		to := hook(event.OrderNone)
		to.MaxAge = 100 * time.Hour
		id := r.emit(event.About{}, to).First()
		time.Sleep(5 * time.Hour)
		r.settle(id, false, time.Time{}) // its end
		time.Sleep(2 * time.Hour)
		replay := r.replay(ReplayRequest{})
		r.turns()
		again := r.repeats(replay.ID)[0].ID
		r.settle(again, true, time.Time{})
		if rec, _ := r.record(id); !rec.Replayed {
			t.Fatalf("%+v", rec)
		}
		time.Sleep(4 * time.Hour)
		r.pruneAt(time.Now())
		if got := r.all(); !slices.Equal(got, []uint64{again, id}) {
			t.Errorf("after eleven hours there are %v", got)
		}
		time.Sleep(4*time.Hour + time.Minute)
		r.pruneAt(time.Now())
		if got := r.all(); !slices.Equal(got, []uint64{again}) {
			t.Errorf("after fifteen hours there are %v", got)
		}
	})
}
