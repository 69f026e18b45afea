package outbox

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/google/uuid"

	"postern/store"
)

// Query selects entries for a list. Batch and State exclude each other.
type Query struct {
	State   State     // empty: all states
	Batch   uuid.UUID // uuid.Nil: all batches
	From    uint64    // sequence beside which the list begins; 0: at its end
	Reverse bool      // from the newest to the oldest
	Limit   int
}

// List returns up to q.Limit entries in the order of their sequences, without their bodies,
// which may be large. It leaves out damaged entries. Its cost does not grow with the outbox.
func List(tx *store.Tx, q Query) ([]Entry, error) {
	bucket, prefix := entryRows, []byte(nil)
	switch {
	case q.Batch != uuid.Nil:
		bucket, prefix = batchRows, q.Batch[:]
	case q.State != "":
		bucket, prefix = stateRows, []byte{q.State.prefix()}
	}
	var entries []Entry
	err := tx.Walk(bucket, q.bounds(prefix), func(key []byte) (bool, error) {
		e, found, err := Head(tx, binary.BigEndian.Uint64(key[len(prefix):]))
		switch {
		case errors.Is(err, store.ErrDamaged):
			return true, nil
		case found && err == nil:
			entries = append(entries, e)
		}
		return len(entries) < q.Limit, err
	})
	return entries, err
}

func (q Query) bounds(prefix []byte) store.Range {
	r := store.Range{Prefix: prefix, Reverse: q.Reverse}
	switch {
	case q.Reverse && q.From > 0:
		r.Before = store.Key(prefix, q.From)
	case !q.Reverse && q.From < math.MaxUint64:
		r.From = store.Key(prefix, q.From+1)
	}
	return r
}

// CountOfBatch counts the entries of a batch up to most: if it returns most, there may be more.
// It scans their keys, which takes some nanoseconds each.
func CountOfBatch(tx *store.Tx, batch uuid.UUID, most int) (n int, err error) {
	return tx.CountSome(batchRows, batch[:], most)
}

// Head returns one entry without its body, which it does not copy.
func Head(tx *store.Tx, seq uint64) (e Entry, found bool, err error) {
	raw, found, err := tx.Peek(entryRows, store.Key(seq))
	if err != nil || !found {
		return e, false, err
	}
	e, err = entry(tx, seq, raw)
	e.Body = nil
	return e, err == nil, err
}

// Has reports whether the entry exists, damaged or not.
func Has(tx *store.Tx, seq uint64) bool { return tx.Has(entryRows, store.Key(seq)) }
