package idempotency

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/internal/prune"
	"postern/store"
)

// rig is a data file with keys.
type rig struct {
	t     *testing.T
	store *store.Store
}

func newRig(t *testing.T) *rig { return newRigWith(t, store.Options{}) }

func newRigWith(t *testing.T, o store.Options) *rig {
	t.Helper()
	o.Path, o.Buckets, o.NoSync, o.MinFree = filepath.Join(t.TempDir(), "t.db"), Buckets(), true, 1
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &rig{t, s}
}

func (r *rig) count(bucket string) (n int) {
	r.t.Helper()
	err := r.store.View(func(tx *store.Tx) error {
		return tx.Scan(bucket, store.Range{}, func(_, _ []byte) (bool, error) {
			n++
			return true, nil
		})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// putKeys stores n records with a time, with keys that begin with name.
func (r *rig) putKeys(name string, n int, at time.Time) {
	r.t.Helper()
	err := r.store.Update(context.Background(), func(tx *store.Tx) error {
		for i := range n {
			rec := record{At: at.UnixMilli(), Route: "POST /x", Digest: make([]byte, 32), Status: 200, ContentType: "application/json", body: []byte("{}")}
			if err := put(tx, OfInstance(1, fmt.Sprint(name, i)), rec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) wantRecords(n int) {
	r.t.Helper()
	if keys, times := r.count(bucketKeys), r.count(bucketTimes); keys != n || times != n {
		r.t.Errorf("%d records and %d times, want %d of each", keys, times, n)
	}
	if held, err := Count(r.store); held != n || err != nil {
		r.t.Errorf("the metric tells %d, %v; want %d", held, err, n)
	}
}

func TestOldKeysArePrunedInSmallSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var commits atomic.Int64
		r := newRigWith(t, store.Options{OnCommit: func(int, time.Duration) { commits.Add(1) }})
		now := time.Now()
		r.putKeys("old", 3*pruneStep, now.Add(-Life))
		r.putKeys("young", 5, now.Add(-Life+30*time.Minute))
		r.putKeys("new", 7, now)
		p := NewPruner(r.store, nil)
		before := commits.Load()
		p.Start()
		synctest.Wait()
		if n := commits.Load() - before; n != 3 {
			t.Errorf("%d commits, want one for each %d", n, pruneStep)
		}
		r.wantRecords(12)
		time.Sleep(30*time.Minute + prune.Grace(Life))
		synctest.Wait()
		r.wantRecords(7)
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * Life)
		r.wantRecords(7) // a stopped pruner does nothing
	})
}

// TestClockSetBackDoesNotKeepKeysForever: a record from next year counts at first, and its day begins when the pruner first
// finds it.
func TestClockSetBackDoesNotKeepKeysForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.putKeys("ahead", 2*pruneStep+1, time.Now().AddDate(1, 0, 0))
		p := NewPruner(r.store, nil)
		p.Start()
		time.Sleep(Life - time.Minute)
		synctest.Wait()
		r.wantRecords(2*pruneStep + 1)
		time.Sleep(prune.Grace(Life))
		synctest.Wait()
		r.wantRecords(0)
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTimesLeftByADeletedInstanceArePruned(t *testing.T) {
	r := newRig(t)
	r.putKeys("k", 3, time.Now().Add(-Life))
	if err := r.store.Update(t.Context(), func(tx *store.Tx) error { return ForgetInstance(tx, 1) }); err != nil {
		t.Fatal(err)
	}
	if err := pruneOld(t.Context(), r.store); err != nil {
		t.Fatal(err)
	}
	r.wantRecords(0)
}
