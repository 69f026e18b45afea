package store

import (
	"encoding/binary"
	"errors"
	"time"
)

// OutboxExpired looks at up to limit finished entries of one state after the
// given sequence, and returns those that were finished before the given time:
// delivered, or made as disabled. Pending entries never expire. next is the
// sequence to go on with, 0 after the last entry. It reads nothing but the
// state index.
func (tx *Tx) OutboxExpired(state OutboxState, after uint64, before time.Time, limit int) (expired []uint64, next uint64, err error) {
	if state == OutboxPending {
		return nil, 0, nil
	}
	seen := 0
	r := Range{Prefix: []byte{state.prefix()}, From: stateKey(state, after+1), Limit: limit}
	err = tx.Scan(outboxStates, r, func(k, v []byte) (bool, error) {
		seen, next = seen+1, binary.BigEndian.Uint64(k[1:])
		at, err := tx.finished(state, next, v)
		if err == nil && at.Before(before) {
			expired = append(expired, next)
		}
		return true, err
	})
	if seen < limit {
		next = 0
	}
	return expired, next, err
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
	e, found, err := tx.outboxHead(seq)
	if errors.Is(err, ErrDamaged) || !found {
		return time.Time{}, nil
	}
	return e.CreatedAt, err
}

// OutboxRemove removes entries with their indexes. Pending ones and missing
// ones are left alone, so that a list of expired entries may be old.
func (tx *Tx) OutboxRemove(seqs []uint64) (removed int, err error) {
	for _, seq := range seqs {
		e, found, err := tx.outboxHead(seq)
		if err != nil && !errors.Is(err, ErrDamaged) {
			return removed, err
		}
		if err != nil || !found || e.State == OutboxPending {
			continue
		}
		if err := tx.removeEntry(e); err != nil {
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
