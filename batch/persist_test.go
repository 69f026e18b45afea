package batch

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

func TestItemIDsAreReversible(t *testing.T) {
	seen := map[uuid.UUID]bool{}
	for range 50 {
		batch := uuid.Must(uuid.NewV7())
		for _, position := range []int{0, 1, 255, 99_999} {
			item := itemID(batch, position)
			back, ok := itemPosition(batch, item)
			if !ok || back != position {
				t.Fatalf("item %d came back as %d, %v", position, back, ok)
			}
			if _, ok := itemPosition(uuid.Must(uuid.NewV7()), item); ok {
				t.Fatal("the item is found under another batch")
			}
			for _, id := range []uuid.UUID{item, attemptID(item, 1), attemptID(item, 2)} {
				if id.Version() != 7 || id.Variant() != uuid.RFC4122 || seen[id] || id == batch {
					t.Fatalf("%s: version %d, %s, seen %v", id, id.Version(), id.Variant(), seen[id])
				}
				seen[id] = true
			}
		}
	}
}

func TestWorkerWithoutLeaseChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := slow(release)
		r := newRig(t, f, nil)
		r.create(request(2))
		r.status(process)
		err := r.s.Update(t.Context(), func(tx *store.Tx) error {
			h, err := loadHeader(tx, r.batch)
			h.Fence++
			return errors.Join(err, putHeader(tx, r.batch, &h))
		})
		if err != nil {
			t.Fatal(err)
		}
		close(release)
		v := r.status(process)
		if v.Counts.Sending != 1 || v.Counts.Success != 0 || r.items()[0].Status != ItemSending {
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
			if tx.Has(bucketOpen, r.batch[:]) {
				t.Error("a finished batch is still in it")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
