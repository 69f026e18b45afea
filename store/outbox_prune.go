package store

import (
	"encoding/binary"
	"errors"
	"time"
)

// OutboxExpired looks at up to limit finished entries of one state after the
// given sequence, and returns those that were finished before the given time:
// delivered, or made as disabled. Pending entries never expire. next is the
// sequence to go on with, 0 when no later one can have expired. oldest is when
// the first of those that it leaves was finished, or made where nothing of it
// was read; zero when none is left.
//
// An entry is never finished before it is made, so that it looks at no entry
// made after the given time.
func (tx *Tx) OutboxExpired(state OutboxState, after uint64, before time.Time, limit int) (expired []uint64, next uint64, oldest time.Time, err error) {
	if state == OutboxPending {
		return nil, 0, oldest, nil
	}
	young, made, err := tx.outboxMadeBy(before)
	if err != nil {
		return nil, 0, oldest, err
	}
	seen := 0
	r := Range{Prefix: []byte{state.prefix()}, From: stateKey(state, after+1), Before: stateKey(state, young), Limit: limit}
	err = tx.Scan(outboxStates, r, func(k, v []byte) (bool, error) {
		seen, next = seen+1, binary.BigEndian.Uint64(k[1:])
		at, err := tx.finished(state, next, v)
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

// outboxMadeBy returns the sequence of the first entry that was made at a time
// or later, and when; a sequence behind the last one, and zero, when there is
// none. It looks at some twenty entries, whatever the outbox holds. One that
// was made in the future, under another clock, counts as made before.
func (tx *Tx) outboxMadeBy(at time.Time) (seq uint64, made time.Time, err error) {
	low, high := uint64(1), tx.OutboxNewest()+1 // every entry before low is older, every one from high on is not
	for low < high {
		middle := low + (high-low)/2
		found, when, err := tx.outboxFrom(middle, high)
		switch {
		case err != nil:
			return 0, made, err
		case found == 0 || !when.Before(at) && !when.After(tx.now):
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

// outboxFrom returns the first readable entry with a sequence from first to
// before one, and when it was made; 0 when there is none.
func (tx *Tx) outboxFrom(first, before uint64) (seq uint64, made time.Time, err error) {
	r := Range{From: Key(first), Before: Key(before)}
	err = tx.walk(outboxEntries, r, func(k []byte) (bool, error) {
		e, found, err := tx.OutboxHead(binary.BigEndian.Uint64(k))
		if errors.Is(err, ErrDamaged) {
			return true, nil
		}
		if found {
			seq, made = e.Seq, e.CreatedAt
		}
		return false, err
	})
	return seq, made, err
}

// finished tells when an entry that is not pending came to its end.
func (tx *Tx) finished(state OutboxState, seq uint64, status []byte) (time.Time, error) {
	if state == OutboxDelivered {
		s, err := decodeStatus(status)
		if err != nil {
			return time.Time{}, nil //nolint:nilerr // a damaged status has no time: it goes with the oldest
		}
		return fromMilli(s.Delivered), nil
	}
	e, found, err := tx.OutboxHead(seq)
	if errors.Is(err, ErrDamaged) || !found {
		return time.Time{}, nil
	}
	return e.CreatedAt, err
}

// OutboxRemove removes entries with their indexes. Pending ones and missing
// ones are left alone, so that a list of expired entries may be old.
func (tx *Tx) OutboxRemove(seqs []uint64) (removed int, err error) {
	for _, seq := range seqs {
		e, found, err := tx.OutboxHead(seq)
		if err != nil && !errors.Is(err, ErrDamaged) {
			return removed, err
		}
		if err != nil || !found || e.State == OutboxPending {
			continue
		}
		if err := errors.Join(tx.removeEntry(e), tx.closeGap(e)); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

func (tx *Tx) removeEntry(e OutboxEntry) error {
	tx.counts.add(e.State, -1)
	return errors.Join(
		tx.Delete(outboxEntries, Key(e.Seq)),
		tx.Delete(outboxStates, stateKey(e.State, e.Seq)),
		tx.Delete(outboxReplay, Key(e.Owner, e.OwnerSeq)),
		tx.Delete(outboxBatch, Key(e.Batch, e.Seq)),
	)
}
