package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/store"
)

// Errors of RetryNow.
var (
	// ErrNoEntry: the outbox has no such entry, or no longer has it.
	ErrNoEntry = errors.New("there is no such outbox entry")
	// ErrNotPending: the entry was delivered, or is kept for replay only.
	ErrNotPending = errors.New("only a pending entry can be retried")
)

// RetryNow makes a pending entry due at once, whatever its backoff and the
// breaker say, and returns it as it is then. An attempt that is under way is
// not repeated. Without a global webhook the entry is sent once there is one.
// Errors are ErrNoEntry and ErrNotPending.
func (r *Relay) RetryNow(ctx context.Context, seq uint64) (e store.OutboxEntry, err error) {
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		var found bool
		if e, found, err = tx.Outbox(seq); err != nil {
			return err
		}
		switch {
		case !found:
			return ErrNoEntry
		case e.State != store.OutboxPending:
			return fmt.Errorf("it is %s: %w", e.State, ErrNotPending)
		case !e.NextAttemptAt.After(tx.Now()):
			return nil
		}
		e.NextAttemptAt = tx.Now()
		return tx.OutboxReschedule(seq, tx.Now())
	})
	if err != nil {
		return store.OutboxEntry{}, fmt.Errorf("retry outbox entry %d: %w", seq, err)
	}
	if r.cfg.URL != "" && !r.board.urge(e.Batch, seq) {
		r.askForPass()
	}
	return e, nil
}

// RetryAll makes all pending entries due at once, in small commits, and
// returns how many are pending. When it fails halfway, those that were moved
// stay due.
func (r *Relay) RetryAll(ctx context.Context) (pending int, err error) {
	pending = r.cfg.Store.OutboxCounts().Pending
	for after, more := (store.Due{At: time.Now()}), true; more; {
		if after, more, err = r.hasten(ctx, after); err != nil {
			return 0, fmt.Errorf("retry outbox: %w", err)
		}
	}
	r.board.hurry()
	r.nudge()
	return pending, nil
}

// hasten makes the next entries after a row of the due index due, in one
// commit.
func (r *Relay) hasten(ctx context.Context, after store.Due) (last store.Due, more bool, err error) {
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		rows, err := tx.OutboxDue(after, upkeepStep)
		if err != nil {
			return err
		}
		for _, row := range rows {
			// A damaged entry cannot be sent anyway; the store reports it.
			if err := tx.OutboxReschedule(row.Seq, tx.Now()); err != nil && !errors.Is(err, store.ErrDamaged) {
				return err
			}
		}
		if more = len(rows) == upkeepStep; more {
			last = rows[len(rows)-1]
		}
		return nil
	})
	return last, more, err
}
