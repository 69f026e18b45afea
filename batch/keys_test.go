package batch

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// TestBatchRecordsTheKeysThatStartedIt, until it has ended.
func TestBatchRecordsTheKeysThatStartedIt(t *testing.T) {
	bubble(t, newFleet(), func(r *rig) {
		makes, starts := uuid.New(), uuid.New()
		of := func(key uuid.UUID) (n int) {
			some, n, err := r.e.OfKey(key, 1)
			if err != nil || n != len(some) {
				r.Fatal(some, n, err)
			}
			return n
		}
		want := func(what string, made, started int) {
			r.Helper()
			if of(makes) != made || of(starts) != started {
				r.Errorf("%s: %d of who made it, %d of who started it", what, of(makes), of(starts))
			}
		}
		req := request(1)
		req.AutoStart, req.Key = new(bool), makes
		b := r.create(req)
		want("as a draft", 1, 0)
		for i, key := range []uuid.UUID{starts, {}, starts, makes} {
			if _, err := r.e.StartWithKey(r.Context(), b.OwnerUserID, b.ID, key); err != nil {
				r.Fatal(err)
			}
			want(fmt.Sprint("start ", i), 1, map[bool]int{true: 1}[key == starts])
			if _, err := r.e.StartWithKey(r.Context(), b.OwnerUserID, b.ID, starts); err != nil { // it runs: nothing changes
				r.Fatal(err)
			}
			want(fmt.Sprint("start again ", i), 1, map[bool]int{true: 1}[key == starts])
			if _, err := r.e.Pause(r.Context(), b.OwnerUserID, b.ID); err != nil {
				r.Fatal(err)
			}
			synctest.Wait()
		}
		if _, err := r.e.StopBatch(r.Context(), b.OwnerUserID, b.ID); err != nil {
			r.Fatal(err)
		}
		want("stopped", 0, 0)
	})
}

// TestStoppingByKeyEndsAtASafePoint checks that a message that is being sent is sent to its end.
func TestStoppingByKeyEndsAtASafePoint(t *testing.T) {
	f := newFleet(1)
	bubble(t, f, func(r *rig) {
		key, leaves := uuid.New(), make(chan struct{})
		f.prepare = nil
		f.send = func(_ context.Context, _ int64, _ event.Outgoing) error {
			<-leaves
			return nil
		}
		req := request(3)
		req.Key = key
		r.create(req)
		synctest.Wait()
		for range 2 { // twice is once
			some, n, err := r.e.StopOfKey(r.Context(), key, 10)
			if err != nil || n != 1 || some[0].Status != stopping {
				r.Fatal(some, n, err)
			}
		}
		close(leaves)
		synctest.Wait()
		if v := r.status(stopped); v.Counts.Success != 1 || v.Counts.Pending != 2 {
			r.Errorf("%+v", v.Counts)
		}
		if some, n, err := r.e.StopOfKey(r.Context(), key, 10); err != nil || n != 0 {
			r.Error(some, n, err)
		}
	})
}

// TestOlderFilesKnowNoKeys of their unfinished batches, which a start notes.
func TestOlderFilesKnowNoKeys(t *testing.T) {
	bubble(t, newFleet(), func(r *rig) {
		req := request(1)
		req.AutoStart = new(bool)
		b := r.create(req)
		var raw []byte
		if err := r.s.View(func(tx *store.Tx) (err error) { raw, err = tx.Get(record.BucketOpen, b.ID[:]); return err }); err != nil || len(raw) != 0 {
			r.Fatalf("a batch without a key has %x, %v", raw, err)
		}
		for _, unknown := range [][]byte{{1}, {9}, slices.Repeat([]byte{2}, 33), make([]byte, 99)} {
			if err := r.s.Update(r.Context(), func(tx *store.Tx) error { return tx.Put(record.BucketOpen, b.ID[:], unknown) }); err != nil {
				r.Fatal(err)
			}
			if _, n, err := r.e.OfKey(uuid.UUID(slices.Repeat([]byte{2}, 16)), 10); err != nil || n != 0 {
				r.Error(n, err)
			}
		}
		key := uuid.New()
		if _, err := r.e.StartWithKey(r.Context(), b.OwnerUserID, b.ID, key); err != nil {
			r.Fatal(err)
		}
		if _, n, err := r.e.OfKey(key, 10); err != nil || n != 1 {
			r.Error(n, err)
		}
	})
}
