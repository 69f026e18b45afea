package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// runsFor are the scoped keys that an unfinished batch runs for: the one that it was
// created with, and the one that it was started with last. Zero: another credential. It
// is the value of the batch in bucketOpen, and is removed with it.
type runsFor struct{ created, started uuid.UUID }

// runsForVersion is its first byte. The value is empty if both are zero, and in older files.
const runsForVersion = 1

func (k runsFor) encode() []byte {
	if k == (runsFor{}) {
		return nil
	}
	return bytes.Join([][]byte{{runsForVersion}, k.created[:], k.started[:]}, nil)
}

func decodeRunsFor(raw []byte) (k runsFor) {
	if len(raw) == 1+len(k.created)+len(k.started) && raw[0] == runsForVersion {
		k.created, k.started = uuid.UUID(raw[1:17]), uuid.UUID(raw[17:])
	}
	return k
}

// noteStarted stores the key with which an unfinished batch was started.
func noteStarted(tx *store.Tx, id, key uuid.UUID) error {
	raw, err := tx.Get(record.BucketOpen, id[:])
	if record.IgnoreDamage(err) != nil {
		return err
	}
	was := decodeRunsFor(raw)
	if err == nil && was.started == key {
		return nil
	}
	return tx.Put(record.BucketOpen, id[:], runsFor{was.created, key}.encode())
}

// KeyBatch is an unfinished batch of a scoped key.
type KeyBatch struct {
	ID     uuid.UUID         `json:"id" doc:"The batch." example:"$uuid"`
	Name   string            `json:"name" doc:"Its name." example:"news"`
	Status event.BatchStatus `json:"status" doc:"Its status." example:"PROCESSING"`
}

// OfKey returns the unfinished batches that were created or last started with a scoped key,
// the oldest first, limit of them at most, and how many there are. Damaged ones are left
// out.
func (e *Engine) OfKey(key uuid.UUID, limit int) (some []KeyBatch, total int, err error) {
	err = e.cfg.Store.View(func(tx *store.Tx) error {
		some = nil
		ids, err := idsOfKey(tx, key)
		total = len(ids)
		for _, id := range ids {
			if err != nil || len(some) == limit {
				return err
			}
			var b KeyBatch
			if b, err = keyBatch(tx, id); err == nil {
				some = append(some, b)
			} else if err = ignoreLost(err); err == nil {
				total--
			}
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("batches of the key %s: %w", key, err)
	}
	return some, total, nil
}

// idsOfKey scans all unfinished batches: a key has few of them, and an index would
// cost each batch more than this scan costs a key in its lifetime.
func idsOfKey(tx *store.Tx, key uuid.UUID) (ids []uuid.UUID, err error) {
	err = tx.Look(record.BucketOpen, store.Range{}, func(k, raw []byte) (bool, error) {
		if of := decodeRunsFor(raw); len(k) == len(key) && (of.created == key || of.started == key) {
			ids = append(ids, uuid.UUID(k))
		}
		return true, nil
	})
	return ids, err
}

func keyBatch(tx *store.Tx, id uuid.UUID) (b KeyBatch, err error) {
	h, err := record.LoadHeader(tx, id)
	if err != nil {
		return b, err
	}
	s, err := record.LoadSpec(tx, id)
	if err != nil {
		return b, err
	}
	return KeyBatch{id, s.Name, h.Status}, nil
}

// ignoreLost drops the error of a batch that ended and is deleted, or cannot be read.
func ignoreLost(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return record.IgnoreDamage(err)
}

const (
	keyStopStep  = 50      // batches that one commit stops
	keyStopBytes = 1 << 20 // or as many as have messages of that size, which its events repeat
)

// StopOfKey stops the batches that OfKey returns, as StopBatch does, many in one commit. It
// returns limit of them at most, as they are then, and how many it stopped. After an error
// those of some commits are stopped, and another call stops the others.
func (e *Engine) StopOfKey(ctx context.Context, key uuid.UUID, limit int) (some []KeyBatch, total int, err error) {
	var ids []uuid.UUID
	err = e.cfg.Store.View(func(tx *store.Tx) (err error) {
		ids, err = idsOfKey(tx, key)
		return err
	})
	for err == nil && len(ids) > 0 {
		var stopped []KeyBatch
		var n int
		if n, stopped, err = e.stopSome(ctx, ids); err == nil {
			ids, total = ids[n:], total+len(stopped)
			some = append(some, stopped[:min(len(stopped), limit-len(some))]...)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("stop the batches of the key %s: %w", key, err)
	}
	return some, total, nil
}

// stopSome stops the first batches of a list in one commit. It returns how many it looked
// at, and those that are stopped, or about to be.
func (e *Engine) stopSome(ctx context.Context, ids []uuid.UUID) (n int, stopped []KeyBatch, err error) {
	var some []*full
	err = e.cfg.Store.View(func(tx *store.Tx) error {
		n, some = 0, nil
		for size := 0; n < min(len(ids), keyStopStep) && size < keyStopBytes; n++ {
			b, err := load(tx, ids[n])
			if err == nil {
				some = append(some, b)
				size += len(b.message.Message.Payload)
			} else if err = ignoreLost(err); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(some) == 0 {
		return n, nil, err
	}
	states := make([][]event.State, len(some))
	for i, b := range some {
		states[i] = e.states(b.spec)
	}
	var done []*full
	err = e.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		done = nil
		for i, b := range some {
			now, err := e.stopOne(tx, b, states[i])
			if err != nil {
				return err
			}
			if now != nil {
				done = append(done, now)
			}
		}
		return nil
	})
	if errors.Is(err, errEdited) {
		return 0, nil, nil // they are read again
	}
	if err != nil {
		return n, nil, err
	}
	for _, b := range done {
		e.committed(b.spec.Owner, b.id, b.Status, nil)
		e.wake(b.id)
		stopped = append(stopped, KeyBatch{b.id, b.spec.Name, b.Status})
	}
	return n, stopped, nil
}

// stopOne applies a stop to the batch, which may have changed since it was read. It
// returns nil for one that ended by itself, or cannot be read any more.
func (e *Engine) stopOne(tx *store.Tx, b *full, states []event.State) (*full, error) {
	now, err := b.again(tx)
	if err != nil {
		return nil, ignoreLost(err)
	}
	err = e.step(tx, &now, table.Input{On: table.OnStop}, states, nil)
	switch {
	case errors.Is(err, ErrInvalidTransition), errors.Is(err, errUnchanged) && table.Final(now.Status):
		return nil, nil
	case errors.Is(err, errUnchanged): // it stops already
		return &now, nil
	}
	return &now, err
}
