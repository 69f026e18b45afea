package delivery

import (
	"errors"
	"time"

	"postern/store"
)

// retryWait is how long the retry of an ended delivery waits for its one attempt. It waits
// only while its destination is disabled.
const retryWait = time.Hour

// Retry sends a delivery now. A pending delivery becomes due at once; if it waits in a line,
// the first of that line does, because the order holds. An ended delivery becomes PENDING for
// one attempt, outside of all orders, and returns to its state if that fails. A delivery in
// the memory queue does not change. Retry wakes those who wait for Store.Woken. due is the
// delivery that is due now, in the record's lane, nil for a delivery in the memory queue.
//
// Errors are ErrNotFound, ErrEndpointGone and ErrBodyGone, the latter two with the unchanged
// record, and ErrLogOff.
func (l *Ledger) Retry(tx *store.Tx, record uint64) (r Record, due *Due, err error) {
	old, found, err := Find(tx, record)
	switch {
	case err != nil:
		return r, nil, err
	case !l.cfg.Log && (!found || !old.Waits()):
		return r, nil, ErrLogOff // also for records left from when it was on
	case !found:
		return r, nil, ErrNotFound
	}
	to, here := l.here(old.Lane)
	switch {
	case !here:
		return old, nil, ErrEndpointGone
	case !old.MadeFor(to):
		return old, nil, ErrBodyGone
	}
	tx.Wake()
	switch {
	case old.InMemory():
		return old, nil, nil
	case old.Waits():
		return l.hurry(tx, old)
	}
	return l.revive(tx, old)
}

// hurry makes a pending delivery, or the one it waits for, due now.
func (l *Ledger) hurry(tx *store.Tx, old Record) (r Record, due *Due, err error) {
	first, err := headOf(tx, old)
	if err != nil {
		return r, nil, err
	}
	if err := l.Reschedule(tx, first.record, tx.Now()); err != nil && !errors.Is(err, store.ErrDamaged) {
		return r, nil, err
	}
	r, _, err = Find(tx, old.ID)
	return r, &Due{At: tx.Now(), Record: first.record, Line: first.line, Once: first.once, Batch: first.batch, OutboxSeq: first.outbox}, err
}

// headOf returns the first of a record's line: the record itself if it waits in none.
func headOf(tx *store.Tx, r Record) (first place, err error) {
	if first = placeOf(r); !r.Waits() || r.Line == 0 {
		return first, nil
	}
	first, _, err = firstOfLine(tx, first)
	return first, err
}

// WaitsFor returns the first of a record's line, which has to end before the record is sent; 0
// if that is the record itself.
func WaitsFor(tx *store.Tx, r Record) (record uint64, err error) {
	first, err := headOf(tx, r)
	if first.record == r.ID {
		return 0, err
	}
	return first.record, err
}

// revive makes a delivery that ended pending again.
func (l *Ledger) revive(tx *store.Tx, old Record) (r Record, due *Due, err error) {
	if !KeepsBody(tx, old) {
		return old, nil, ErrBodyGone
	}
	r = old
	r.Former, r.State, r.Once, r.Line = old.State, Pending, true, 0
	r.NextAttemptAt, r.ExpiresAt = tx.Now(), tx.Steady().Add(retryWait)
	if _, err := l.addPending(tx, r, &old); err != nil {
		return r, nil, err
	}
	return r, &Due{At: r.NextAttemptAt, Record: r.ID, Once: true}, nil
}
