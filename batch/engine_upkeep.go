package batch

import (
	"bytes"
	"errors"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/store"
)

// sweep removes what a creation or an append that never finished left behind.
func (e *Engine) sweep(id uuid.UUID) error {
	release, err := e.appends.enter(e.life, id)
	if err != nil {
		return err
	}
	defer release()
	return e.sweepLocked(id)
}

// sweepLocked removes, in small commits, the items behind the last one of a batch, which are
// all if there is none.
func (e *Engine) sweepLocked(id uuid.UUID) error {
	for n := record.RemoveStep; n == record.RemoveStep; {
		err := e.update(func(tx *store.Tx) error {
			h, err := record.LoadHeader(tx, id)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			for _, bucket := range []string{record.BucketItem, record.BucketDetails} {
				if n, err = deleteBehind(tx, bucket, id, h.Counts.Total); err != nil || n == record.RemoveStep {
					return err
				}
			}
			return tx.Delete(record.BucketCreating, id[:])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteBehind deletes removeStep records at most of a batch's items from a position on.
func deleteBehind(tx *store.Tx, bucket string, id uuid.UUID, position int) (n int, err error) {
	if position == 0 {
		return tx.DeleteSome(bucket, id[:], record.RemoveStep)
	}
	var keys [][]byte
	err = tx.Look(bucket, store.Range{Prefix: id[:], From: record.ItemKey(id, position), Limit: record.RemoveStep}, func(key, _ []byte) (bool, error) {
		keys = append(keys, bytes.Clone(key))
		return true, nil
	})
	for _, key := range keys {
		if err == nil {
			err = tx.Delete(bucket, key)
		}
	}
	return len(keys), err
}

// countAll counts what an earlier release has not counted, in small commits, until
// all is counted or the engine stops.
func (e *Engine) countAll() {
	for done := false; !done && !e.stopping(); {
		err := e.update(func(tx *store.Tx) (err error) {
			done, err = record.CountSome(tx)
			return err
		})
		if err != nil {
			if !e.stopping() {
				e.cfg.Logger.Warn("batches not counted, the next start goes on", "error", err)
			}
			return
		}
	}
}

// counted reports whether no batch is left to be counted.
func (e *Engine) counted() (is bool, err error) {
	err = e.cfg.Store.View(func(tx *store.Tx) error {
		mark, err := record.CountedTo(tx)
		if is = bytes.Equal(mark, record.AllCounted); is || err != nil {
			return err
		}
		some, err := record.AnyOf(tx, record.BucketHeader)
		is = !some
		return err
	})
	return is, err
}
