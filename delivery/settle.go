package delivery

import (
	"errors"
	"time"
	"unicode/utf8"

	"postern/delivery/layout"
	"postern/store"
)

// maxError is how much of an error the file keeps, in bytes.
const maxError = 1 << 10

// Settle notes an attempt of a pending delivery. An accepted delivery becomes DELIVERED.
// Another waits until next or, if it allows only one attempt, has expired or next is zero,
// ends. Settle sets the attempt's number. follows is the delivery of the line that may be sent
// next. Settle returns the changed record. If the delivery was no longer pending, the record's
// ID is 0 and nothing changes, except that a delivery given up during the attempt gets the
// attempt in its record. If the record cannot be read, the error wraps store.ErrDamaged:
// [Ledger.Lose] ends it.
func (l *Ledger) Settle(tx *store.Tx, record uint64, a Attempt, accepted bool, next time.Time) (follows *Due, r Record, err error) {
	old, found, err := Find(tx, record)
	switch {
	case err != nil || !found || !old.Waits() && (old.State == Pending || old.State == Delivered):
		return nil, Record{}, err
	case !old.Waits():
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

// CutOff notes an attempt of a pending delivery that the sender cut off. Nothing else changes,
// and the next attempt is due as before. If the delivery is no longer pending, CutOff returns
// no error.
func (l *Ledger) CutOff(tx *store.Tx, record uint64, a Attempt) error {
	old, found, err := Find(tx, record)
	if err != nil || !found || !old.Waits() {
		return err
	}
	r := old.attempted(a)
	if r.Lane == OutboxLane {
		r.NextAttemptAt = old.DueAt()
	}
	return l.putRecord(tx, r, &old)
}

// attempted returns the record with one more attempt. The attempt before it gets a row of its
// own when the record is stored.
func (r Record) attempted(a Attempt) Record {
	r.Attempts++
	r.LastAttemptAt, r.Duration, r.LastStatus = a.StartedAt, a.Duration, a.Status
	r.LastError, r.Answer, r.RequestID = cut(a.Error, maxError), CutAnswer(a.Answer), a.RequestID
	if a.URL != "" {
		r.URL = a.URL
	}
	return r
}

// lastAttempt returns the attempt that the record holds.
func (r Record) lastAttempt() Attempt {
	return Attempt{
		Number: r.Attempts, StartedAt: r.LastAttemptAt, Duration: r.Duration, Status: r.LastStatus,
		Error: r.LastError, RequestID: r.RequestID, Answer: r.Answer,
	}
}

// move changes the due time of a pending delivery. A delivery that waits in a line uses it
// once it is the first.
func (l *Ledger) move(tx *store.Tx, old Record, r *Record, at time.Time) error {
	r.NextAttemptAt = layout.FromMillis(layout.Millis(at))
	p := placeOf(*r)
	err := l.putRecord(tx, *r, &old)
	if p.lane == OutboxLane || tx.Has(heads, p.headKey()) {
		return errors.Join(err, tx.Delete(dues, p.dueKey(old.DueAt())), tx.Put(dues, p.dueKey(r.DueAt()), p.value()))
	}
	return errors.Join(err, tx.Put(lines, p.lineKey(), p.lineValue(r.DueAt())))
}

// Reschedule changes the due time of a pending delivery without counting an attempt.
func (l *Ledger) Reschedule(tx *store.Tx, record uint64, at time.Time) error {
	old, found, err := Find(tx, record)
	if err != nil || !found || !old.Waits() {
		return err
	}
	r := old
	return l.move(tx, old, &r, at)
}

// over reports whether a delivery has expired at a steady time.
func (r *Record) over(now time.Time) bool { return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt) }

// cut shortens a text to at most n bytes of whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// settleLate notes an attempt that was under way when its delivery expired, was cancelled, or
// returned to its state before a retry. If the attempt was accepted, the delivery becomes
// DELIVERED in any case; otherwise the reason of its end stays.
func (l *Ledger) settleLate(tx *store.Tx, old Record, a Attempt, accepted bool) error {
	r := old.attempted(a)
	if !accepted && old.State == Expired { // the reason is that of the last attempt
		return l.putRecord(tx, r, &old)
	}
	if !accepted {
		ended := r
		ended.LastError = old.LastError
		return errors.Join(l.putRecord(tx, r, &old), l.putRecord(tx, ended, &r))
	}
	r.State = Delivered
	var err error
	if r.OwnBody && !l.wantsBody(r) {
		r.OwnBody = false
		err = tx.Delete(bodies, store.Key(r.ID))
	}
	if err = errors.Join(err, l.putRecord(tx, r, &old)); err != nil || r.EventSeq == 0 {
		return err
	}
	return l.release(tx, r.EventSeq)
}
