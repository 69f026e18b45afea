package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/store"
)

// Errors of RetryNow, beside [delivery.ErrEndpointGone].
var (
	// ErrNoEntry: the outbox has no such entry, or no longer has it.
	ErrNoEntry = errors.New("there is no such outbox entry")
	// ErrNotPending: the entry was delivered, or is kept for replay only.
	ErrNotPending = errors.New("only a pending entry can be retried")
)

// RetryNow makes a pending entry due at once, regardless of its backoff and the breaker,
// and returns its new state. It does not repeat an attempt that is under way. Errors are
// ErrNoEntry, ErrNotPending, and delivery.ErrEndpointGone without a global webhook.
func (r *Relay) RetryNow(ctx context.Context, seq uint64) (e outbox.Entry, err error) {
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		var found bool
		if e, found, err = outbox.Get(tx, seq); err == nil {
			e, err = delivery.Queued(tx, e)
		}
		if err != nil {
			return err
		}
		switch {
		case !found:
			return ErrNoEntry
		case e.State != outbox.Pending:
			return fmt.Errorf("it is %s: %w", e.State, ErrNotPending)
		case !r.reaches(delivery.BatchLane):
			return delivery.ErrEndpointGone
		case !e.NextAttemptAt.After(tx.Now()):
			return nil
		}
		e.NextAttemptAt = tx.Now()
		return r.cfg.Ledger.Reschedule(tx, e.Record, tx.Now())
	})
	if err != nil {
		return outbox.Entry{}, fmt.Errorf("retry outbox entry %d: %w", seq, err)
	}
	r.urgeEntry(e.Batch, e.Seq)
	return e, nil
}

// urgeEntry sends an entry of the outbox before the others.
func (r *Relay) urgeEntry(batch uuid.UUID, seq uint64) {
	if r.globalURL() != "" && !r.batch.board.urge(batch, seq) {
		r.batch.askForPass()
	}
}

// Retry sends a delivery of the log now, by one more attempt, and returns the new state
// of its record. It does not repeat an attempt that is under way. A delivery that waits
// behind another in an order still leaves after it: Retry sends that one now, and the
// returned record names it. Retry first calls may with the record, possibly twice. If may
// returns an error, Retry returns it and changes nothing. Other errors are those of
// [delivery.Ledger.Retry].
func (r *Relay) Retry(ctx context.Context, record uint64, may func(delivery.Record) error) (delivery.Listed, error) {
	var rec delivery.Record
	var due *delivery.Due
	err := r.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		rec, due, err = r.cfg.Ledger.Retry(tx, record)
		if err == nil || errors.Is(err, delivery.ErrBodyGone) || errors.Is(err, delivery.ErrEndpointGone) {
			if refused := may(rec); refused != nil {
				return refused
			}
		}
		return err
	})
	found := delivery.Listed{Record: rec, Replayable: true}
	switch {
	case err != nil:
		return delivery.Listed{}, fmt.Errorf("retry delivery %d: %w", record, err)
	case rec.Lane == delivery.OutboxLane:
		r.urgeEntry(rec.Batch, rec.OutboxSeq)
	case due != nil:
		if due.Record != record {
			found.WaitsFor = due.Record
		}
		r.expiry.set(rec.ExpiresAt)
		r.urge(rec.Lane, recordRow(*due))
	}
	return found, nil
}

// urge sends a record of a lane before the others.
func (r *Relay) urge(is delivery.Lane, now row) {
	r.mu.Lock()
	l := r.lanes[is]
	r.mu.Unlock()
	if l == nil || now.Once {
		r.wake(is, []row{now})
		return
	}
	if !l.board.urge(now.Line, now.Seq) {
		l.askForPass()
	}
}

// Probe returns when a destination with an open breaker is tried next, zero if its breaker is closed.
func (r *Relay) Probe(is delivery.Lane) (at time.Time) {
	l := r.batch
	if is != delivery.BatchLane {
		r.mu.Lock()
		l = r.lanes[is]
		r.mu.Unlock()
	}
	if l == nil {
		return at
	}
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	if l.board.breaker.open {
		at = l.board.breaker.probeAt
	}
	return at
}

// Hasten makes all that waits for a destination due at once, in small commits, whatever it was asked to wait for.
func (r *Relay) Hasten(ctx context.Context, is delivery.Lane) error {
	if is == delivery.BatchLane {
		if _, err := r.RetryAll(ctx); err != nil {
			return err
		}
	}
	for after, more := (delivery.Due{At: time.Now()}), true; more; {
		var err error
		if after, more, err = r.hasten(ctx, is, after); err != nil {
			return fmt.Errorf("make due what waits for a receiver: %w", err)
		}
	}
	if is == delivery.BatchLane {
		return nil
	}
	r.mu.Lock()
	l := r.lanes[is]
	r.mu.Unlock()
	if l == nil {
		r.wake(is, nil)
		return nil
	}
	l.board.hurry()
	l.askForPass()
	return nil
}

// RetryAll makes all pending entries due at once, in small commits, and returns how many
// are pending. If it fails halfway, the entries that were moved stay due.
func (r *Relay) RetryAll(ctx context.Context) (pending int, err error) {
	pending = r.cfg.Outbox.Counts().Pending
	for after, more := (delivery.Due{At: time.Now()}), true; more; {
		if after, more, err = r.hasten(ctx, delivery.OutboxLane, after); err != nil {
			return 0, fmt.Errorf("retry outbox: %w", err)
		}
	}
	r.batch.board.hurry()
	r.batch.nudge()
	return pending, nil
}

// hasten makes the next entries after a row of the due index due, in one commit.
func (r *Relay) hasten(ctx context.Context, is delivery.Lane, after delivery.Due) (last delivery.Due, more bool, err error) {
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		rows, err := delivery.DueAfter(tx, is, after, upkeepStep)
		if err != nil {
			return err
		}
		if more = len(rows) == upkeepStep; more {
			last = rows[len(rows)-1]
		}
		for _, row := range rows {
			// A damaged entry cannot be sent anyway; the store reports it.
			if err := r.cfg.Ledger.Reschedule(tx, row.Record, tx.Now()); err != nil && !errors.Is(err, store.ErrDamaged) {
				return err
			}
		}
		return nil
	})
	return last, more, err
}
