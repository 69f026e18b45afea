package batch

import (
	"errors"
	"testing"
	"testing/synctest"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

func TestWorkerWithoutLeaseChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := slow(release)
		r := newRig(t, f, nil)
		r.create(request(2))
		r.status(process)
		err := r.s.Update(t.Context(), func(tx *store.Tx) error {
			h, err := record.LoadHeader(tx, r.batch)
			h.Fence++
			return errors.Join(err, record.PutHeader(tx, r.batch, &h))
		})
		if err != nil {
			t.Fatal(err)
		}
		close(release)
		v := r.status(process)
		if v.Counts.Sending != 1 || v.Counts.Success != 0 || r.items()[0].Status != record.ItemSending {
			t.Errorf("the fenced worker changed %+v", v.Counts)
		}
		r.stop()
	})
}

func TestFinishedBatchesLeaveTheIndexThatStartReads(t *testing.T) {
	bubble(t, newFleet(1), func(r *rig) {
		r.create(request(1))
		r.status(event.BatchIsCompleted)
		err := r.s.View(func(tx *store.Tx) error {
			if tx.Has(record.BucketOpen, r.batch[:]) {
				t.Error("a finished batch is still in it")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
