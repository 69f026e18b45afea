package outbox

import (
	"encoding/binary"
	"errors"

	"github.com/google/uuid"

	"postern/store"
)

// Rows of outbox_forget: batches whose finished entries are to be removed, and
// batches whose entries are removed as soon as they are delivered.
const (
	forgetSweep = byte('s')
	forgetLater = byte('f')
)

// Forget marks all events of a batch for removal. Forgotten and Sweep remove the finished ones;
// a pending one is removed in the commit that notes its delivery. The cost of Forget does not
// depend on the batch, and it wakes as Emit does. The batch must not emit any more.
func (o *Outbox) Forget(tx *store.Tx, batch uuid.UUID) error {
	o.commit(tx).emitted = true
	return errors.Join(
		tx.Put(forgetRows, store.Key(forgetSweep, batch), nil),
		tx.Put(forgetRows, store.Key(forgetLater, batch), nil),
	)
}

// Forgotten returns up to limit batches, after the given one, whose
// events are to be removed by Sweep.
func Forgotten(tx *store.Tx, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	var batches []uuid.UUID
	r := store.Range{Prefix: []byte{forgetSweep}, From: store.Key(forgetSweep, after, byte(0)), Limit: limit}
	err := tx.Scan(forgetRows, r, func(k, _ []byte) (bool, error) {
		id, err := uuid.FromBytes(k[1:])
		batches = append(batches, id)
		return true, err
	})
	return batches, err
}

// Sweep examines up to limit entries of a forgotten batch with a sequence greater than after,
// and removes those that are not pending. It leaves entries after upTo for another sweep. seen
// is the number of examined entries, next the sequence to continue with, 0 at the end of this
// sweep.
func (o *Outbox) Sweep(tx *store.Tx, batch uuid.UUID, after, upTo uint64, limit int) (seen int, next uint64, err error) {
	var seqs []uint64
	young := false
	err = tx.Walk(batchRows, store.Range{Prefix: batch[:], From: store.Key(batch, after+1)}, func(k []byte) (bool, error) {
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
		if err := o.sweepEntry(tx, seq); err != nil {
			return 0, 0, err
		}
	}
	switch {
	case young:
		return len(seqs), 0, nil
	case len(seqs) == limit:
		return limit, seqs[limit-1], nil
	}
	return 0, 0, errors.Join(tx.Delete(forgetRows, store.Key(forgetSweep, batch)), forgotten(tx, batch))
}

// sweepEntry removes an entry unless it is pending. The batch of a damaged entry is unknown;
// the retention removes it.
func (o *Outbox) sweepEntry(tx *store.Tx, seq uint64) error {
	e, found, err := Head(tx, seq)
	if errors.Is(err, store.ErrDamaged) {
		return nil
	}
	if err != nil || !found || e.State == Pending {
		return err
	}
	return o.dropEntry(tx, e)
}

// endForgotten removes a pending entry that was delivered if its batch is forgotten.
func (o *Outbox) endForgotten(tx *store.Tx, e Entry) (removed bool, err error) {
	if e.State != Pending || !tx.Has(forgetRows, store.Key(forgetLater, e.Batch)) {
		return false, nil
	}
	return true, errors.Join(o.dropEntry(tx, e), forgotten(tx, e.Batch))
}

// forgotten removes the mark of a batch once the batch has no entry.
func forgotten(tx *store.Tx, batch uuid.UUID) error {
	left := false
	err := tx.Walk(batchRows, store.Range{Prefix: batch[:]}, func([]byte) (bool, error) {
		left = true
		return false, nil
	})
	if err != nil || left {
		return err
	}
	return tx.Delete(forgetRows, store.Key(forgetLater, batch))
}

// dropEntry removes an entry without a trace: a reader skips its sequence, which is part of a
// gap.
func (o *Outbox) dropEntry(tx *store.Tx, e Entry) error {
	return errors.Join(o.removeEntry(tx, e), widenGap(tx, e.Owner, e.OwnerSeq))
}

// Erase removes an entry, pending or not. Its sequence becomes part of a gap.
func (o *Outbox) Erase(tx *store.Tx, e Entry) error {
	return errors.Join(o.dropEntry(tx, e), forgotten(tx, e.Batch))
}

// Gap is a run of an owner's sequences whose events were removed with their
// batches, or erased. Events that the retention removed leave no gap.
type Gap struct{ First, Last uint64 }

// Gaps returns up to limit gaps of an owner that end after the given
// sequence, in order.
func Gaps(tx *store.Tx, owner uuid.UUID, after uint64, limit int) ([]Gap, error) {
	var gaps []Gap
	r := store.Range{Prefix: owner[:], From: store.Key(owner, after+1), Limit: limit}
	err := tx.Scan(gapRows, r, func(k, v []byte) (bool, error) {
		if len(k) == 24 && len(v) == 8 {
			gaps = append(gaps, Gap{First: binary.BigEndian.Uint64(v), Last: binary.BigEndian.Uint64(k[16:])})
		}
		return true, nil
	})
	return gaps, err
}

// Forgot reports whether the event of an owner with this sequence was removed together with its
// batch. It does not know those that are older than all that the owner can read.
func Forgot(tx *store.Tx, owner uuid.UUID, seq uint64) (bool, error) {
	next, err := Gaps(tx, owner, seq-1, 1)
	return len(next) > 0 && next[0].First <= seq, err
}

// widenGap adds seq to the gaps, and joins it with the gaps on both sides.
func widenGap(tx *store.Tx, owner uuid.UUID, seq uint64) error {
	first, last := seq, seq
	near, err := Gaps(tx, owner, seq-2, 2) // those that end at seq-1 or later
	if err != nil {
		return err
	}
	for _, g := range near {
		switch {
		case g.Last == seq-1:
			first = g.First
			if err := tx.Delete(gapRows, store.Key(owner, g.Last)); err != nil {
				return err
			}
		case g.First == seq+1:
			last = g.Last
		}
	}
	newest, err := NewestOf(tx, owner)
	if err != nil || last < newest && !tx.Has(replayRows, store.Key(owner, last+1)) {
		return err // the retention removed the event behind it: no reader continues from here
	}
	return tx.Put(gapRows, store.Key(owner, last), store.Key(first))
}

// closeGap removes the gap before an event that the retention removes: no reader continues from
// there.
func closeGap(tx *store.Tx, e Entry) error {
	return tx.Delete(gapRows, store.Key(e.Owner, e.OwnerSeq-1))
}
