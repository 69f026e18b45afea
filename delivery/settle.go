package delivery

import (
	"errors"
	"time"

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
	case r.over(tx.Steady()):
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
	r := old.attempted(a)
	if r.Lane == OutboxLane {
		r.NextAttemptAt = old.dueAt()
	}
	return l.putRecord(tx, r, &old)
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
	if p.lane == OutboxLane || tx.Has(heads, p.headKey()) {
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

// over reports whether the time of a delivery is over at a steady time.
func (r *Record) over(now time.Time) bool { return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt) }
