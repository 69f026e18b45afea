package outbox

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"postern/store"
)

// forgetWorld is an outbox and the expected contents.
type forgetWorld struct {
	*testing.T
	s       *opened
	rng     *rand.Rand
	entries []*forgetEntry
	batches map[uuid.UUID]bool // forgotten
}

type forgetEntry struct {
	seq, ownerSeq    uint64
	owner, batch     uuid.UUID
	done, gone, aged bool // delivered; removed with its batch; removed by the retention
}

func (w *forgetWorld) update(fn func(tx *store.Tx) error) {
	w.Helper()
	if err := w.s.Update(context.Background(), fn); err != nil {
		w.Fatal(err)
	}
}

func (w *forgetWorld) step() {
	open := func(ok func(*forgetEntry) bool) *forgetEntry {
		var some []*forgetEntry
		for _, e := range w.entries {
			if !e.gone && !e.aged && ok(e) {
				some = append(some, e)
			}
		}
		if len(some) == 0 {
			return nil
		}
		return some[w.rng.IntN(len(some))]
	}
	switch n := w.rng.IntN(20); {
	case n < 8:
		e := &forgetEntry{seq: uint64(len(w.entries) + 1), owner: uuid.UUID{1, byte(w.rng.IntN(2))}, ownerSeq: 1}
		for _, o := range w.entries {
			if o.owner == e.owner {
				e.ownerSeq++
			}
		}
		for e.batch = (uuid.UUID{2, byte(w.rng.IntN(250)), e.owner[1]}); w.batches[e.batch]; {
			e.batch[2]++
			e.batch[3] = e.owner[1]
		}
		if last := open(func(o *forgetEntry) bool { return o.owner == e.owner && !w.batches[o.batch] }); last != nil && w.rng.IntN(3) > 0 {
			e.batch = last.batch
		}
		w.update(func(tx *store.Tx) error {
			return w.s.Emit(tx, Emission{Kind: "message.batch.created", Owner: e.owner, Batch: e.batch, Data: struct{}{}})
		})
		w.entries = append(w.entries, e)
	case n < 15:
		if e := open(func(e *forgetEntry) bool { return !e.done }); e != nil {
			w.update(func(tx *store.Tx) error { return w.s.Ended(tx, e.seq, 1, 200) })
			e.done, e.gone = true, w.batches[e.batch]
		}
	case n < 17:
		if e := open(func(e *forgetEntry) bool { return !w.batches[e.batch] }); e != nil {
			w.forget(e.batch)
		}
	default:
		if e := open(func(e *forgetEntry) bool { return e.done }); e != nil {
			w.update(func(tx *store.Tx) error {
				_, err := w.s.Remove(tx, []uint64{e.seq})
				return err
			})
			e.aged = true
		}
	}
}

// forget removes a batch's events in steps of two, and now and then restarts the sweep between
// them, as after a crash.
func (w *forgetWorld) forget(batch uuid.UUID) {
	w.batches[batch] = true
	w.update(func(tx *store.Tx) error { return w.s.Forget(tx, batch) })
	for next, more := uint64(0), true; more; {
		w.update(func(tx *store.Tx) (err error) {
			_, next, err = w.s.Sweep(tx, batch, next, newest(tx), 2)
			return err
		})
		if more = next != 0; more && w.rng.IntN(3) == 0 {
			next = 0
		}
	}
	for _, e := range w.entries {
		e.gone = e.gone || e.batch == batch && e.done && !e.aged
	}
}

// gaps returns the runs of removed sequences from which a reader may continue: the event behind
// them is kept or yet to come.
func (w *forgetWorld) gaps(owner uuid.UUID) (all []Gap) {
	var run *Gap
	for _, e := range w.entries {
		switch {
		case e.owner != owner:
		case e.gone && run == nil:
			run = &Gap{e.ownerSeq, e.ownerSeq}
		case e.gone:
			run.Last = e.ownerSeq
		default:
			if run != nil && !e.aged {
				all = append(all, *run)
			}
			run = nil
		}
	}
	if run != nil {
		all = append(all, *run)
	}
	return all
}

func (w *forgetWorld) check() {
	w.Helper()
	left := map[uuid.UUID]bool{}
	for _, e := range w.entries {
		kept := !e.gone && !e.aged
		_, found, err := view2(w.T, w.s, func(tx *store.Tx) (Entry, bool, error) { return Get(tx, e.seq) })
		if err != nil || found != kept {
			w.Fatalf("entry %d is there: %t, want %t (%v)", e.seq, found, kept, err)
		}
		if kept && w.batches[e.batch] {
			left[e.batch] = true
		}
	}
	for _, owner := range []uuid.UUID{{1, 0}, {1, 1}} {
		got := view(w.T, w.s, func(tx *store.Tx) ([]Gap, error) { return Gaps(tx, owner, 0, 1000) })
		if want := w.gaps(owner); !slices.Equal(got, want) {
			w.Fatalf("owner %s: gaps %v, want %v", owner, got, want)
		}
	}
	rows, err := w.s.Rows(forgetRows)
	if err != nil || rows != len(left) {
		w.Fatalf("%d batches wait for deliveries, want %d (%v)", rows, len(left), err)
	}
}

func view2[T any](t *testing.T, s *opened, fn func(*store.Tx) (T, bool, error)) (v T, ok bool, err error) {
	t.Helper()
	err = s.View(func(tx *store.Tx) (err error) {
		v, ok, err = fn(tx)
		return err
	})
	return v, ok, err
}

// Whatever is made, delivered, removed with its batch and pruned, in any order: the events of a
// removed batch are removed, except pending ones. Exactly these removed events form gaps that
// a reader may skip.
func TestRemovedBatchesLeaveReportedGaps(t *testing.T) {
	for seed := range uint64(20) {
		w := &forgetWorld{T: t, rng: rand.New(rand.NewPCG(seed, 1)), batches: map[uuid.UUID]bool{}}
		w.s = openTest(t, filepath.Join(t.TempDir(), "f.db"))
		for range 150 {
			w.step()
		}
		w.check()
		if err := w.s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnpublishedEventsAreNotSwept(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "f.db"))
	owner, batch := uuid.UUID{1}, uuid.UUID{2}
	emit(t, s, owner, batch, 3)
	err := s.Update(context.Background(), func(tx *store.Tx) error {
		for seq := range uint64(3) {
			if err := s.Ended(tx, seq+1, 1, 200); err != nil {
				return err
			}
		}
		return s.Forget(tx, batch)
	})
	if err != nil {
		t.Fatal(err)
	}
	sweep := func(upTo uint64) (left int) {
		err := s.Update(context.Background(), func(tx *store.Tx) error {
			_, _, err := s.Sweep(tx, batch, 0, upTo, 10)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(view(t, s, func(tx *store.Tx) ([]Entry, error) { return After(tx, 0, 10) }))
	}
	waiting := func() int {
		return len(view(t, s, func(tx *store.Tx) ([]uuid.UUID, error) { return Forgotten(tx, uuid.Nil, 10) }))
	}
	if left := sweep(2); left != 1 || waiting() != 1 {
		t.Errorf("%d events are left of those up to 2, %d batches wait", left, waiting())
	}
	if left := sweep(3); left != 0 || waiting() != 0 {
		t.Errorf("%d events are left, %d batches wait", left, waiting())
	}
}

// A search for old entries reads the old ones, and some others to find them.
func TestSweepDoesNotReadNewEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, filepath.Join(t.TempDir(), "f.db"))
		emit(t, s, uuid.UUID{1}, uuid.UUID{2}, 5)
		time.Sleep(time.Minute)
		mark := time.Now().UTC()
		emit(t, s, uuid.UUID{1}, uuid.UUID{2}, 500)
		for _, c := range []struct {
			at, made time.Time
			seq      uint64
		}{
			{mark.Add(-2 * time.Minute), mark.Add(-time.Minute), 1},
			{mark.Add(-time.Second), mark, 6},
			{mark, mark, 6},
			{mark.Add(time.Hour), time.Time{}, 506},
		} {
			err := s.View(func(tx *store.Tx) error {
				seq, made, err := madeBy(tx, c.at)
				if seq != c.seq || !made.Equal(c.made) {
					t.Errorf("made since %s: the first is %d of %s, want %d of %s", c.at, seq, made, c.seq, c.made)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
