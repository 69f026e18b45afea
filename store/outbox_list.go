package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
)

// OutboxQuery selects entries for a list. Batch and State exclude each other.
type OutboxQuery struct {
	State   OutboxState // empty: all states
	Batch   uuid.UUID   // uuid.Nil: all batches
	From    uint64      // sequence beside which the list begins; 0: at its end
	Reverse bool        // from the newest to the oldest
	Limit   int
}

// OutboxList returns up to q.Limit entries without their bodies, which may be
// large, in the order of their sequences. Damaged entries are left out. Its
// cost does not grow with the outbox.
func (tx *Tx) OutboxList(q OutboxQuery) ([]OutboxEntry, error) {
	bucket, prefix := outboxEntries, []byte(nil)
	switch {
	case q.Batch != uuid.Nil:
		bucket, prefix = outboxBatch, q.Batch[:]
	case q.State != "":
		bucket, prefix = outboxStates, []byte{q.State.prefix()}
	}
	var entries []OutboxEntry
	err := tx.walk(bucket, q.bounds(prefix), func(key []byte) (bool, error) {
		e, found, err := tx.OutboxHead(binary.BigEndian.Uint64(key[len(prefix):]))
		switch {
		case errors.Is(err, ErrDamaged):
			return true, nil
		case found && err == nil:
			entries = append(entries, e)
		}
		return len(entries) < q.Limit, err
	})
	return entries, err
}

func (q OutboxQuery) bounds(prefix []byte) Range {
	r := Range{Prefix: prefix, Reverse: q.Reverse}
	switch {
	case q.Reverse && q.From > 0:
		r.Before = Key(prefix, q.From)
	case !q.Reverse && q.From < math.MaxUint64:
		r.From = Key(prefix, q.From+1)
	}
	return r
}

// OutboxCountOfBatch counts the entries of a batch up to most: when it returns
// that, there may be more. It walks their keys, some nanoseconds each.
func (tx *Tx) OutboxCountOfBatch(batch uuid.UUID, most int) (n int, err error) {
	return tx.CountSome(outboxBatch, batch[:], most)
}

// OutboxHead returns one entry without its body, which it does not copy.
func (tx *Tx) OutboxHead(seq uint64) (e OutboxEntry, found bool, err error) {
	raw, found, err := tx.peek(outboxEntries, Key(seq))
	if err != nil || !found {
		return e, false, err
	}
	e, err = tx.entry(seq, raw)
	e.Body = nil
	return e, err == nil, err
}

// HasOutbox reports whether the entry exists, damaged or not.
func (tx *Tx) HasOutbox(seq uint64) bool { return tx.Has(outboxEntries, Key(seq)) }

// Peek is Get without the copy: the value must neither be kept nor changed, and is
// good until the transaction writes or ends.
func (tx *Tx) Peek(bucket string, key []byte) (value []byte, found bool, err error) {
	return tx.peek(bucket, key)
}

// peek returns the value of key as it lies in the file: it must neither be
// kept nor changed.
func (tx *Tx) peek(bucket string, key []byte) (value []byte, found bool, err error) {
	b, err := tx.bucket(bucket)
	if err != nil {
		return nil, false, err
	}
	tx.openings.looked++
	raw := b.Get(key)
	if raw == nil {
		return nil, false, nil
	}
	value, ok := verify(key, raw)
	if !ok {
		tx.damage(bucket, key)
		return nil, true, fmt.Errorf("store: %s key %x: %w", bucket, key, ErrDamaged)
	}
	return value, true, nil
}

// Walk calls fn for each key of r until fn returns false or an error, those of
// damaged records too. Values are not read; keys must not be kept. Range.Limit
// is ignored. fn must not write to the bucket.
func (tx *Tx) Walk(bucket string, r Range, fn func(key []byte) (bool, error)) error {
	return tx.walk(bucket, r, fn)
}

// walk calls fn for each key of r until fn returns false or an error. Values
// are not read; keys must not be kept. Range.Limit is ignored.
func (tx *Tx) walk(bucket string, r Range, fn func(key []byte) (bool, error)) error {
	b, err := tx.bucket(bucket)
	if err != nil {
		return err
	}
	from, before := r.bounds()
	c := b.Cursor()
	step := c.Next
	if r.Reverse {
		step = c.Prev
	}
	for k, _ := seek(c, r.Reverse, from, before); k != nil && inside(k, from, before); k, _ = step() {
		tx.openings.looked++
		if b.declared.isGuard(k) {
			continue
		}
		if more, err := fn(k); err != nil || !more {
			return err
		}
	}
	return nil
}
