package dispatch

import (
	"slices"
	"time"

	"postern/store"
)

const (
	pruneEvery = 10 * time.Minute
	pruneStep  = 5000 // rows of one read transaction
	upkeepStep = 500  // entries of one commit
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

// pruneOnce looks in read transactions and removes in small commits.
func (r *Relay) pruneOnce(before time.Time) error {
	for _, state := range []store.OutboxState{store.OutboxDelivered, store.OutboxDisabled} {
		for next, more := uint64(0), true; more; more = next != 0 {
			var expired []uint64
			err := r.cfg.Store.View(func(tx *store.Tx) (err error) {
				expired, next, err = tx.OutboxExpired(state, next, before, pruneStep)
				return err
			})
			if err == nil {
				err = r.remove(expired)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Relay) remove(expired []uint64) error {
	for some := range slices.Chunk(expired, upkeepStep) {
		err := r.cfg.Store.Update(r.reading, func(tx *store.Tx) error {
			_, err := tx.OutboxRemove(some)
			return err
		})
		if err != nil {
			return err
		}
	}
	return r.reading.Err()
}
