package dispatch

import (
	"context"
	"fmt"
	"time"

	"postern/store"
)

const (
	pruneEvery = 10 * time.Minute
	upkeepStep = 500 // entries of one commit
)

// prune removes entries that were delivered long ago, in small commits.
func (r *Relay) prune() {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		if err := r.pruneOnce(time.Now().Add(-r.cfg.Retention)); err != nil && r.reading.Err() == nil {
			r.log.Warn("outbox not pruned", "error", err)
		}
		select {
		case <-tick.C:
		case <-r.reading.Done():
			return
		}
	}
}

func (r *Relay) pruneOnce(before time.Time) error {
	for next := uint64(0); ; {
		err := r.cfg.Store.Update(r.reading, func(tx *store.Tx) (err error) {
			next, _, err = tx.OutboxPrune(next, before, upkeepStep)
			return err
		})
		if err != nil || next == 0 {
			return err
		}
	}
}

// RetryNow makes a pending entry due at once, whatever its backoff and the
// breaker say. Entries in other states stay as they are.
func (r *Relay) RetryNow(ctx context.Context, seq uint64) error {
	err := r.cfg.Store.Update(ctx, func(tx *store.Tx) error { return tx.OutboxReschedule(seq, tx.Now()) })
	if err != nil {
		return fmt.Errorf("retry outbox entry %d: %w", seq, err)
	}
	r.board.hurry()
	r.askForPass()
	return nil
}

// RetryAll makes all pending entries due at once, in small commits.
func (r *Relay) RetryAll(ctx context.Context) error {
	for after := (store.Due{At: time.Now()}); ; {
		var rows []store.Due
		err := r.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
			if rows, err = tx.OutboxDue(after, upkeepStep); err != nil {
				return err
			}
			for _, row := range rows {
				if err := tx.OutboxReschedule(row.Seq, tx.Now()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("retry outbox: %w", err)
		}
		if len(rows) < upkeepStep {
			break
		}
		after = rows[len(rows)-1]
	}
	r.board.hurry()
	r.askForPass()
	return nil
}
