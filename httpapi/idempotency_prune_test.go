package httpapi

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/prune"
	"postern/store"
)

// putKeys stores n records of a time, with keys that begin with name.
func (r *rig) putKeys(name string, n int, at time.Time) {
	r.t.Helper()
	err := r.store.Update(context.Background(), func(tx *store.Tx) error {
		for i := range n {
			rec := keyRecord{At: at.UnixMilli(), Route: "POST /x", Digest: make([]byte, 32), Status: 200, ContentType: contentTypeJSON, body: []byte("{}")}
			if err := putKey(tx, store.Key(keyOfInstance, 1, fmt.Sprint(name, i)), rec); err != nil {
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
	if keys, times := r.count(bucketKeys), r.count(bucketKeyTime); keys != n || times != n {
		r.t.Errorf("%d records and %d times, want %d of each", keys, times, n)
	}
	if held, err := HeldKeys(r.store); held != n || err != nil {
		r.t.Errorf("the metric tells %d, %v; want %d", held, err, n)
	}
}

func TestAKeyIsKeptFor24HoursAndThenFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.instance("a")
		var err error
		if r.token, err = MintUserToken(testSecret, r.user, 48*time.Hour, time.Now()); err != nil {
			t.Fatal(err)
		}
		first := r.keyed(r.token, "k", "/message/batches", batchBody("", ""))
		time.Sleep(keyLife - time.Millisecond)
		if got := r.keyed(r.token, "k", "/message/batches", batchBody("", "")); !got.replayed || got.body != first.body {
			t.Errorf("one millisecond before the end: %v", got)
		}
		time.Sleep(time.Millisecond)
		if got := r.keyed(r.token, "k", "/message/batches", batchBody("", "")); got.status != 201 || got.replayed {
			t.Errorf("after a day: %v", got)
		}
		r.wantRecords(1) // the old one was replaced, in the index of times too
		r.wantBatches(2)
	})
}

func TestOldKeysArePrunedAtStartAndWhenTheNextAreOldInSmallSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var commits atomic.Int64
		r := newRigWith(t, store.Options{NoSync: true, MinFree: 1, OnCommit: func(int, time.Duration) { commits.Add(1) }})
		now := time.Now()
		r.putKeys("old", 3*keyPruneStep, now.Add(-keyLife))
		r.putKeys("young", 5, now.Add(-keyLife+30*time.Minute))
		r.putKeys("new", 7, now)
		p := NewKeyPruner(r.store, nil)
		before := commits.Load()
		p.Start()
		synctest.Wait()
		if n := commits.Load() - before; n != 3 {
			t.Errorf("%d commits, want one for each %d", n, keyPruneStep)
		}
		r.wantRecords(12)
		time.Sleep(30*time.Minute + prune.Grace(keyLife))
		synctest.Wait()
		r.wantRecords(7)
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * keyLife)
		r.wantRecords(7) // a stopped pruner does nothing
	})
}

// TestAClockThatIsSetBackDoesNotKeepKeysForever: a record from next year counts
// at first, and its day begins with the first look at it.
func TestAClockThatIsSetBackDoesNotKeepKeysForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.putKeys("ahead", 2*keyPruneStep+1, time.Now().AddDate(1, 0, 0))
		p := NewKeyPruner(r.store, nil)
		p.Start()
		time.Sleep(keyLife - time.Minute)
		synctest.Wait()
		r.wantRecords(2*keyPruneStep + 1)
		time.Sleep(prune.Grace(keyLife))
		synctest.Wait()
		r.wantRecords(0)
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTimesLeftByADeletedInstanceArePruned(t *testing.T) {
	r := newRig(t)
	r.putKeys("k", 3, time.Now().Add(-keyLife))
	if err := r.store.Update(t.Context(), func(tx *store.Tx) error { return ForgetInstance(tx, 1) }); err != nil {
		t.Fatal(err)
	}
	if err := pruneKeys(t.Context(), r.store); err != nil {
		t.Fatal(err)
	}
	r.wantRecords(0)
}
