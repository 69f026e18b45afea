package outbox

import (
	"encoding/binary"
	"errors"
	"time"

	"postern/store"
)

// Expired examines up to limit finished entries of one state after the given sequence, and
// returns those that were finished before the given time: delivered, or made as disabled.
// Pending entries never expire. next is the sequence to continue with, 0 if no later entry can
// have expired. oldest is when the first of the remaining entries was finished or, if nothing
// of it was read, made; zero if none remains.
//
// An entry is never finished before it is made, so Expired does not examine entries made after
// the given time.
func Expired(tx *store.Tx, state State, after uint64, before time.Time, limit int) (expired []uint64, next uint64, oldest time.Time, err error) {
	if state == Pending {
		return nil, 0, oldest, nil
	}
	young, made, err := madeBy(tx, before)
	if err != nil {
		return nil, 0, oldest, err
	}
	seen := 0
	r := store.Range{Prefix: []byte{state.prefix()}, From: stateKey(state, after+1), Before: stateKey(state, young), Limit: limit}
	err = tx.Scan(stateRows, r, func(k, v []byte) (bool, error) {
		seen, next = seen+1, binary.BigEndian.Uint64(k[1:])
		at, err := finished(tx, state, next, v)
		switch {
		case err != nil:
		case at.Before(before):
			expired = append(expired, next)
		case oldest.IsZero() || at.Before(oldest):
			oldest = at
		}
		return true, err
	})
	if seen < limit {
		next = 0
		if oldest.IsZero() {
			oldest = made
		}
	}
	return expired, next, oldest, err
}

// madeBy returns the sequence of the first entry that was made at a time or later, and when it
// was made; if there is none, a sequence behind the last one, and zero. It reads some twenty
// entries, however many the outbox holds. An entry with a future time, made under another clock,
// counts as made before.
func madeBy(tx *store.Tx, at time.Time) (seq uint64, made time.Time, err error) {
	last, err := Newest(tx)
	if err != nil {
		return 0, made, err
	}
	low, high := uint64(1), last+1 // every entry before low is older, every one from high on is not
	for low < high {
		middle := low + (high-low)/2
		found, when, err := entryFrom(tx, middle, high)
		switch {
		case err != nil:
			return 0, made, err
		case found == 0 || !when.Before(at) && !when.After(tx.Now()):
			high = middle
			if found != 0 {
				made = when
			}
		default:
			low = found + 1
		}
	}
	return low, made, nil
}

// entryFrom returns the first readable entry with a sequence from first to before one, and when
// it was made; 0 if there is none.
func entryFrom(tx *store.Tx, first, before uint64) (seq uint64, made time.Time, err error) {
	r := store.Range{From: store.Key(first), Before: store.Key(before)}
	err = tx.Walk(entryRows, r, func(k []byte) (bool, error) {
		e, found, err := Head(tx, binary.BigEndian.Uint64(k))
		if errors.Is(err, store.ErrDamaged) {
			return true, nil
		}
		if found {
			seq, made = e.Seq, e.CreatedAt
		}
		return false, err
	})
	return seq, made, err
}

// finished returns when an entry that is not pending ended.
func finished(tx *store.Tx, state State, seq uint64, status []byte) (time.Time, error) {
	if state == Delivered {
		s, err := decodeStatus(status)
		if err != nil {
			return time.Time{}, nil //nolint:nilerr // a damaged status has no time: it is removed with the oldest
		}
		return fromMilli(s.Delivered), nil
	}
	e, found, err := Head(tx, seq)
	if errors.Is(err, store.ErrDamaged) || !found {
		return time.Time{}, nil
	}
	return e.CreatedAt, err
}

// Remove removes entries with their indexes. It skips pending and missing entries, so that a list
// of expired entries may be outdated.
func (o *Outbox) Remove(tx *store.Tx, seqs []uint64) (removed int, err error) {
	for _, seq := range seqs {
		e, found, err := Head(tx, seq)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return removed, err
		}
		if err != nil || !found || e.State == Pending {
			continue
		}
		if err := errors.Join(o.removeEntry(tx, e), closeGap(tx, e)); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

func (o *Outbox) removeEntry(tx *store.Tx, e Entry) error {
	o.commit(tx).counts.add(e.State, -1)
	return errors.Join(
		tx.Delete(entryRows, store.Key(e.Seq)),
		tx.Delete(stateRows, stateKey(e.State, e.Seq)),
		tx.Delete(replayRows, store.Key(e.Owner, e.OwnerSeq)),
		tx.Delete(batchRows, store.Key(e.Batch, e.Seq)),
	)
}
