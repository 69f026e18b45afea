package delivery

import (
	"errors"
	"time"

	"postern/store"
)

// retryWait is how long a retry of what had ended waits for its one attempt,
// which it does only while its destination is disabled.
const retryWait = time.Hour

// Retry has a delivery sent now. A pending one becomes due at once; where it
// waits in a line, whoever is first of it does, since the order holds. One that
// ended is PENDING again for one attempt, outside of all orders, and what it
// was before when that fails. One of the in-memory flow that is on its way
// stays as it is. It wakes who waits for Store.Woken; due is what is due now, in the
// record's lane, nil for a delivery on its way in memory.
//
// Errors are ErrNotFound, ErrEndpointGone and ErrBodyGone, both with the record as
// it stays, and ErrLogOff.
func (l *Ledger) Retry(tx *store.Tx, record uint64) (r Record, due *Due, err error) {
	old, found, err := getRecord(tx, record)
	switch {
	case err != nil:
		return r, nil, err
	case !l.cfg.Log && (!found || !old.waits()):
		return r, nil, ErrLogOff // also of what is left from when it was on
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
	case old.inMemory():
		return old, nil, nil
	case old.waits():
		return l.hurry(tx, old)
	}
	return l.revive(tx, old)
}

// hurry makes a pending delivery due now, or whoever it waits for.
func (l *Ledger) hurry(tx *store.Tx, old Record) (r Record, due *Due, err error) {
	first, err := headOf(tx, old)
	if err != nil {
		return r, nil, err
	}
	if err := l.Reschedule(tx, first.record, tx.Now()); err != nil && !errors.Is(err, store.ErrDamaged) {
		return r, nil, err
	}
	r, _, err = getRecord(tx, old.ID)
	return r, &Due{At: tx.Now(), Record: first.record, Line: first.line, Once: first.once, Batch: first.batch, OutboxSeq: first.outbox}, err
}

// headOf is who leaves before all others of a record's line: itself where it waits in
// none.
func headOf(tx *store.Tx, r Record) (first place, err error) {
	if first = placeOf(r); !r.waits() || r.Line == 0 {
		return first, nil
	}
	first, _, err = firstOfLine(tx, first)
	return first, err
}

// revive makes a delivery that ended pending again.
func (l *Ledger) revive(tx *store.Tx, old Record) (r Record, due *Due, err error) {
	if !keepsBody(tx, old) {
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
