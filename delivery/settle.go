package delivery

import (
	"errors"
	"time"

	"postern/delivery/outbox"
	"postern/store"
)

// maxError is how much of an error the file keeps, in bytes.
const maxError = 1 << 10

// Settle notes an attempt of a pending delivery. One that was accepted is
// delivered. Another one waits until next, or has come to its end: when it was
// to have one attempt only, when its time is over, and when next is zero. The
// attempt's number is set here. follows is what may leave instead, the next of
// its line. The record is returned as it is now; its ID is 0 when it was not
// pending any more: then nothing was changed, but for one that was given up while
// the attempt was under way, whose record has it all the same. When it cannot be read, the error
// wraps store.ErrDamaged: [Ledger.Lose] ends it.
func (l *Ledger) Settle(tx *store.Tx, record uint64, a Attempt, accepted bool, next time.Time) (follows *Due, r Record, err error) {
	old, found, err := getRecord(tx, record)
	switch {
	case err != nil || !found || !old.waits() && (old.State == Pending || old.State == Delivered):
		return nil, Record{}, err
	case !old.waits():
		return nil, Record{}, l.settleLate(tx, old, a, accepted)
	}
	r = old.attempted(a)
	state := Pending
	switch {
	case accepted:
		state = Delivered
	case r.Once || next.IsZero():
		state = Failed
	case !tx.Steady().Before(r.ExpiresAt):
		state = Expired
	}
	if state == Pending {
		return nil, r, l.move(tx, old, &r, next)
	}
	ended, err := l.end(tx, old, r, state)
	return ended.Follows, ended.Record, err
}

// CutOff notes an attempt of a pending delivery that was cut off by whoever made it:
// nothing else changes, and the next one is due as it was. One that is not pending any
// more is no error.
func (l *Ledger) CutOff(tx *store.Tx, record uint64, a Attempt) error {
	old, found, err := getRecord(tx, record)
	if err != nil || !found || !old.waits() {
		return err
	}
	return l.putRecord(tx, old.attempted(a), &old)
}

// CutOffBatch is CutOff of an entry of the outbox, there and in its record.
func (l *Ledger) CutOffBatch(tx *store.Tx, seq uint64, a Attempt) error {
	e, found, err := outbox.Head(tx, seq)
	if err != nil || !found {
		return err
	}
	return l.SettleBatch(tx, seq, a, false, e.NextAttemptAt)
}

// attempted returns the record with one attempt more. The one before it gets a
// row of its own when the record is stored.
func (r Record) attempted(a Attempt) Record {
	r.Attempts++
	r.LastAttemptAt, r.Duration, r.LastStatus = a.StartedAt, a.Duration, a.Status
	r.LastError, r.Answer, r.RequestID = cut(a.Error, maxError), CutAnswer(a.Answer), a.RequestID
	if a.URL != "" {
		r.URL = a.URL
	}
	return r
}

// lastAttempt is the attempt that the record holds.
func (r Record) lastAttempt() Attempt {
	return Attempt{
		Number: r.Attempts, StartedAt: r.LastAttemptAt, Duration: r.Duration, Status: r.LastStatus,
		Error: r.LastError, RequestID: r.RequestID, Answer: r.Answer,
	}
}

// move gives a pending delivery another time. One that waits in a line will be
// due then once it is the first.
func (l *Ledger) move(tx *store.Tx, old Record, r *Record, at time.Time) error {
	r.NextAttemptAt = fromMillis(millis(at))
	p := placeOf(*r)
	err := l.putRecord(tx, *r, &old)
	if tx.Has(heads, p.headKey()) {
		return errors.Join(err, tx.Delete(dues, p.dueKey(old.dueAt())), tx.Put(dues, p.dueKey(r.dueAt()), p.value()))
	}
	return errors.Join(err, tx.Put(lines, p.lineKey(), p.lineValue(r.dueAt())))
}

// Reschedule moves a pending delivery to another time without counting an
// attempt.
func (l *Ledger) Reschedule(tx *store.Tx, record uint64, at time.Time) error {
	old, found, err := getRecord(tx, record)
	if err != nil || !found || !old.waits() {
		return err
	}
	r := old
	return l.move(tx, old, &r, at)
}

// SettleBatch notes an attempt of an entry of the outbox, there and in its
// record, which is made if it has none: instead of [outbox.Outbox.Delivered] and
// [outbox.Outbox.Retry]. A missing entry is no error.
func (l *Ledger) SettleBatch(tx *store.Tx, seq uint64, a Attempt, accepted bool, next time.Time) error {
	e, found, err := outbox.Head(tx, seq)
	if err != nil || !found || e.State != outbox.Pending {
		return err
	}
	if accepted {
		err = l.cfg.Outbox.Accepted(tx, e, a.Status)
	} else {
		err = l.cfg.Outbox.Failed(tx, e, next, a.Status, a.Error)
	}
	old, known, errOld := l.batchOld(tx, e)
	if err = errors.Join(err, errOld); err != nil || !known {
		return err
	}
	r := old.attempted(a)
	if !accepted {
		r.NextAttemptAt = fromMillis(millis(next))
		return l.putRecord(tx, r, &old)
	}
	r.State, r.NextAttemptAt = Delivered, time.Time{}
	if !l.cfg.Log {
		return l.dropRecord(tx, old)
	}
	return l.putRecord(tx, r, &old)
}

// batchOld returns the record of an entry of the outbox as it was before this
// attempt. One that was made before there were records gets one now. known is
// false when the record cannot be read, or is gone: the delivery goes on
// without.
func (l *Ledger) batchOld(tx *store.Tx, e outbox.Entry) (old Record, known bool, err error) {
	if e.Record != 0 {
		old, known, err = getRecord(tx, e.Record)
		if errors.Is(err, store.ErrDamaged) {
			return old, false, nil
		}
		return old, known && old.mirrors(), err
	}
	whole, found, err := outbox.Get(tx, e.Seq)
	if err != nil || !found {
		return old, false, err // its batch was removed, and it went with its delivery
	}
	e.Body = whole.Body
	old = l.batchRecord(e)
	old.Attempts, old.LastStatus, old.LastError = e.Attempts, e.LastStatus, e.LastError
	return old, true, errors.Join(outbox.SetRecord(tx, e.Seq, old.ID), l.putRecord(tx, old, nil))
}

// RescheduleBatch moves an entry of the outbox to another time without counting
// an attempt, there and in its record: instead of [outbox.Outbox.Reschedule].
func (l *Ledger) RescheduleBatch(tx *store.Tx, seq uint64, at time.Time) error {
	e, found, err := outbox.Head(tx, seq)
	if err != nil || !found || e.State != outbox.Pending {
		return err
	}
	if err := l.cfg.Outbox.Reschedule(tx, seq, at); err != nil || e.Record == 0 {
		return err
	}
	old, known, err := l.batchOld(tx, e)
	if err != nil || !known {
		return err
	}
	r := old
	r.NextAttemptAt = fromMillis(millis(at))
	return l.putRecord(tx, r, &old)
}
