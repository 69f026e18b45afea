package store

import (
	"encoding/binary"
	"errors"

	"github.com/google/uuid"
)

// Rows of outbox_forget: batches whose finished entries are to be removed, and
// batches whose entries are removed as soon as they are delivered.
const (
	forgetSweep = byte('s')
	forgetLater = byte('f')
)

// OutboxForget has all events of a batch removed: the finished ones by whoever
// looks after the outbox (OutboxForgotten, OutboxSweep), pending ones in the
// commit that notes their delivery. It costs the same whatever the batch has,
// and wakes as Emit does. The batch must not emit any more.
func (tx *Tx) OutboxForget(batch uuid.UUID) error {
	tx.emitted = true
	return errors.Join(
		tx.Put(outboxForget, Key(forgetSweep, batch), nil),
		tx.Put(outboxForget, Key(forgetLater, batch), nil),
	)
}

// OutboxForgotten returns up to limit batches, after the given one, whose
// events are to be removed by OutboxSweep.
func (tx *Tx) OutboxForgotten(after uuid.UUID, limit int) ([]uuid.UUID, error) {
	var batches []uuid.UUID
	r := Range{Prefix: []byte{forgetSweep}, From: Key(forgetSweep, after, byte(0)), Limit: limit}
	err := tx.Scan(outboxForget, r, func(k, _ []byte) (bool, error) {
		id, err := uuid.FromBytes(k[1:])
		batches = append(batches, id)
		return true, err
	})
	return batches, err
}

// OutboxSweep looks at up to limit entries of a forgotten batch with a sequence
// greater than after, and removes those that are not pending. Entries after
// upTo are left for another sweep. seen is how many it looked at, next the
// sequence to go on with, 0 when this sweep is over.
func (tx *Tx) OutboxSweep(batch uuid.UUID, after, upTo uint64, limit int) (seen int, next uint64, err error) {
	var seqs []uint64
	young := false
	err = tx.walk(outboxBatch, Range{Prefix: batch[:], From: Key(batch, after+1)}, func(k []byte) (bool, error) {
		seq := binary.BigEndian.Uint64(k[16:])
		if young = seq > upTo; young {
			return false, nil
		}
		seqs = append(seqs, seq)
		return len(seqs) < limit, nil
	})
	if err != nil {
		return 0, 0, err
	}
	for _, seq := range seqs {
		if err := tx.sweepEntry(seq); err != nil {
			return 0, 0, err
		}
	}
	switch {
	case young:
		return len(seqs), 0, nil
	case len(seqs) == limit:
		return limit, seqs[limit-1], nil
	}
	return 0, 0, errors.Join(tx.Delete(outboxForget, Key(forgetSweep, batch)), tx.forgotten(batch))
}

// sweepEntry removes an entry unless it is pending. Of a damaged one nobody
// knows whose it is; it goes with the retention.
func (tx *Tx) sweepEntry(seq uint64) error {
	e, found, err := tx.OutboxHead(seq)
	if errors.Is(err, ErrDamaged) {
		return nil
	}
	if err != nil || !found || e.State == OutboxPending {
		return err
	}
	return tx.dropEntry(e)
}

// deliverForgotten removes an entry that was delivered if its batch is
// forgotten.
func (tx *Tx) deliverForgotten(e OutboxEntry) (removed bool, err error) {
	if !tx.Has(outboxForget, Key(forgetLater, e.Batch)) {
		return false, nil
	}
	return true, errors.Join(
		tx.Delete(outboxDue, dueKey(e.NextAttemptAt, e.Seq)),
		tx.dropEntry(e), tx.forgotten(e.Batch),
	)
}

// forgotten takes the mark of a batch away once it has no entry.
func (tx *Tx) forgotten(batch uuid.UUID) error {
	left := false
	err := tx.walk(outboxBatch, Range{Prefix: batch[:]}, func([]byte) (bool, error) {
		left = true
		return false, nil
	})
	if err != nil || left {
		return err
	}
	return tx.Delete(outboxForget, Key(forgetLater, batch))
}

// dropEntry removes an entry as if it had never been: a reader passes over its
// sequence, and is told.
func (tx *Tx) dropEntry(e OutboxEntry) error {
	return errors.Join(tx.removeEntry(e), tx.widenGap(e.Owner, e.OwnerSeq))
}

// OutboxGap is a run of an owner's sequences whose events were removed together
// with their batches. Events that the retention removed leave no gap.
type OutboxGap struct{ First, Last uint64 }

// OutboxGaps returns up to limit gaps of an owner that end after the given
// sequence, in order.
func (tx *Tx) OutboxGaps(owner uuid.UUID, after uint64, limit int) ([]OutboxGap, error) {
	var gaps []OutboxGap
	r := Range{Prefix: owner[:], From: Key(owner, after+1), Limit: limit}
	err := tx.Scan(outboxGap, r, func(k, v []byte) (bool, error) {
		if len(k) == 24 && len(v) == 8 {
			gaps = append(gaps, OutboxGap{First: binary.BigEndian.Uint64(v), Last: binary.BigEndian.Uint64(k[16:])})
		}
		return true, nil
	})
	return gaps, err
}

// widenGap makes seq part of a gap, and one gap of those on both sides of it.
func (tx *Tx) widenGap(owner uuid.UUID, seq uint64) error {
	first, last := seq, seq
	near, err := tx.OutboxGaps(owner, seq-2, 2) // those that end at seq-1 or later
	if err != nil {
		return err
	}
	for _, g := range near {
		switch {
		case g.Last == seq-1:
			first = g.First
			if err := tx.Delete(outboxGap, Key(owner, g.Last)); err != nil {
				return err
			}
		case g.First == seq+1:
			last = g.Last
		}
	}
	newest, err := tx.OutboxOwnerNewest(owner)
	if err != nil || last < newest && !tx.Has(outboxReplay, Key(owner, last+1)) {
		return err // the event behind it went with the retention: nobody can read on from here
	}
	return tx.Put(outboxGap, Key(owner, last), Key(first))
}

// closeGap forgets the gap before an event that the retention removes: nobody
// can read on from there.
func (tx *Tx) closeGap(e OutboxEntry) error {
	return tx.Delete(outboxGap, Key(e.Owner, e.OwnerSeq-1))
}
