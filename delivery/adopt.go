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

// adopt takes over what the outbox of a file of schema version 3 has pending: there it was
// a queue of its own, and a record followed each entry. Each step is one commit that moves
// some entries whole, so that after a kill the next start goes on with the others.
func (l *Ledger) adopt(step int) error {
	if l.cfg.Outbox == nil {
		return nil
	}
	for adopted := 0; ; {
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
		if adopted == 0 {
			l.log.Info("pending batch events of an earlier release are taken over, some 20 000 a second", "count", l.cfg.Outbox.Counts().Pending)
		}
		adopted += len(rows)
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

// adoptOne puts an entry into its lane, with its record as the entry is. One whose record is
// missing or damaged gets another one.
func (l *Ledger) adoptOne(tx *store.Tx, e outbox.Entry) error {
	old, found, err := getRecord(tx, e.Record)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	switch same := found && err == nil && old.OutboxSeq == e.Seq; {
	case same && old.waits() && old.Lane == OutboxLane:
		return nil // mend was first
	case !same || !old.ofVersion3():
		return l.enqueue(tx, e)
	}
	r := old
	r.Lane = OutboxLane
	r.dueLike(e)
	_, err = l.addPending(tx, r, &old)
	return err
}

// enqueue makes a record for a pending entry that has none, and puts it into its lane.
func (l *Ledger) enqueue(tx *store.Tx, e outbox.Entry) error {
	r := l.renewedRecord(e)
	_, err := l.addPending(tx, r, nil)
	return errors.Join(err, outbox.SetRecord(tx, e.Seq, r.ID))
}

// renewedRecord is a new record for a pending entry, with what the entry says of its attempts.
func (l *Ledger) renewedRecord(e outbox.Entry) Record {
	r := l.batchRecord(e)
	r.Attempts, r.LastStatus, r.LastError = e.Attempts, e.LastStatus, e.LastError
	r.dueLike(e)
	return r
}

// dueLike makes a record due when its entry is.
func (r *Record) dueLike(e outbox.Entry) {
	if !r.dueAt().Equal(e.NextAttemptAt) {
		r.NextAttemptAt = e.NextAttemptAt
	}
}

// Renew gives a pending entry whose record cannot be read another one, which it returns: 0
// when it is not pending any more. The attempts so far are forgotten.
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

// IsNew reports whether a pending entry is due since it was made, as when it was never
// attempted. It reads no record.
func IsNew(tx *store.Tx, e outbox.Entry) bool {
	p := place{lane: OutboxLane, record: e.Record}
	return e.State == outbox.Pending && e.Record != 0 && tx.Has(dues, p.dueKey(e.CreatedAt))
}

// Queued is an entry of the outbox with what its record says of it while it is pending:
// its attempts, and when the next one is due.
func Queued(tx *store.Tx, e outbox.Entry) (outbox.Entry, error) {
	if e.State != outbox.Pending || e.Record == 0 {
		return e, nil
	}
	r, found, err := getRecord(tx, e.Record)
	if err != nil || !found || r.Lane != OutboxLane || r.OutboxSeq != e.Seq {
		return e, ignoreDamage(err) // it counts as never attempted
	}
	e.Attempts, e.LastStatus, e.LastError, e.NextAttemptAt = r.Attempts, r.LastStatus, r.LastError, r.dueAt()
	return e, nil
}
