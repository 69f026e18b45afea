package delivery

import (
	"context"
	"errors"
	"fmt"

	"postern/delivery/outbox"
	"postern/store"
)

// adoptStep is how many entries of the outbox one commit takes over: some 25 ms of work.
const adoptStep = 1000

// adopt takes over the pending entries of the outbox from a file of schema version 3. In such
// a file the outbox was a queue of its own, and each entry had a record. Each step is one
// commit that moves some entries completely, so that the next start continues after a kill.
func (l *Ledger) adopt(step int) error {
	if l.cfg.Outbox == nil {
		return nil
	}
	for first := true; ; first = false {
		var rows []outbox.Former
		err := l.store.View(func(tx *store.Tx) (err error) {
			rows, err = outbox.FormerQueue(tx, step)
			return err
		})
		if err == nil && len(rows) > 0 {
			err = l.store.Update(context.Background(), func(tx *store.Tx) error { return l.adoptSome(tx, rows) })
		}
		if err != nil {
			return fmt.Errorf("delivery: take over the outbox: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		if first {
			l.log.Info("pending batch events of an earlier release are taken over, some 20 000 a second", "count", l.cfg.Outbox.Counts().Pending)
		}
	}
}

func (l *Ledger) adoptSome(tx *store.Tx, rows []outbox.Former) error {
	for _, row := range rows {
		e, found, err := outbox.TakeFormer(tx, row)
		if err == nil && found {
			err = l.adoptOne(tx, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// adoptOne puts an entry into its lane and makes its record match the entry. An entry whose
// record is missing or damaged gets a new one.
func (l *Ledger) adoptOne(tx *store.Tx, e outbox.Entry) error {
	old, found, err := Find(tx, e.Record)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	switch same := found && err == nil && old.OutboxSeq == e.Seq; {
	case same && old.Waits() && old.Lane == OutboxLane:
		return nil // mend has already enqueued it
	case !same || !old.ofVersion3():
		return l.enqueue(tx, e)
	}
	r := old
	r.Lane = OutboxLane
	r.dueLike(e)
	_, err = l.addPending(tx, r, &old)
	return err
}

// enqueue makes a record for a pending entry that has none, and puts the entry into its lane.
func (l *Ledger) enqueue(tx *store.Tx, e outbox.Entry) error {
	r := l.renewedRecord(e)
	_, err := l.addPending(tx, r, nil)
	return errors.Join(err, outbox.SetRecord(tx, e.Seq, r.ID))
}

// renewedRecord returns a new record for a pending entry, with the attempts that the entry states.
func (l *Ledger) renewedRecord(e outbox.Entry) Record {
	r := l.batchRecord(e)
	r.Attempts, r.LastStatus, r.LastError = e.Attempts, e.LastStatus, e.LastError
	r.dueLike(e)
	return r
}

// dueLike makes a record due when its entry is.
func (r *Record) dueLike(e outbox.Entry) {
	if !r.DueAt().Equal(e.NextAttemptAt) {
		r.NextAttemptAt = e.NextAttemptAt
	}
}

// Renew replaces the unreadable record of a pending entry and returns the new record's id, or
// 0 if the entry is no longer pending. It discards the attempts so far.
func (l *Ledger) Renew(tx *store.Tx, seq, lost uint64) (record uint64, err error) {
	e, found, err := outbox.Get(tx, seq)
	if err != nil || !found || e.State != outbox.Pending || e.Record != lost {
		return 0, err
	}
	if _, err := l.unindex(tx, place{lane: OutboxLane, record: lost}); err != nil {
		return 0, err
	}
	if err := l.enqueue(tx, e); err != nil {
		return 0, err
	}
	e, _, err = outbox.Head(tx, seq)
	return e.Record, err
}

// IsNew reports whether a pending entry is due since it was made, as if it was never
// attempted. It does not read the record.
func IsNew(tx *store.Tx, e outbox.Entry) bool {
	p := place{lane: OutboxLane, record: e.Record}
	return e.State == outbox.Pending && e.Record != 0 && tx.Has(dues, p.dueKey(e.CreatedAt))
}

// Queued is an entry of the outbox. While it is pending, Queued includes the attempts and the
// time of the next one from its record.
func Queued(tx *store.Tx, e outbox.Entry) (outbox.Entry, error) {
	if e.State != outbox.Pending || e.Record == 0 {
		return e, nil
	}
	r, found, err := Find(tx, e.Record)
	if err != nil || !found || r.Lane != OutboxLane || r.OutboxSeq != e.Seq {
		return e, IgnoreDamage(err) // it counts as never attempted
	}
	e.Attempts, e.LastStatus, e.LastError, e.NextAttemptAt = r.Attempts, r.LastStatus, r.LastError, r.DueAt()
	return e, nil
}
