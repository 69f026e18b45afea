package dispatch

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/internal/prune"
	"postern/store"
)

const (
	pruneStep  = 5000 // rows of one read transaction
	upkeepStep = 500  // entries of one commit
)

// prune removes entries that were delivered long ago.
func (r *Relay) prune() {
	prune.Loop(r.reading, r.cfg.Store, r.cfg.Retention, r.pruneOnce, func(err error) {
		r.log.Warn("outbox not pruned", "error", err)
	})
}

// pruneOnce searches in read transactions and removes in small commits. It returns the
// time at which the oldest remaining entry ended or was made.
func (r *Relay) pruneOnce(before time.Time) (oldest time.Time, err error) {
	for _, state := range []outbox.State{outbox.Delivered, outbox.Disabled} {
		for next, more := uint64(0), true; more; more = next != 0 {
			var expired []uint64
			var left time.Time
			err := r.cfg.Store.View(func(tx *store.Tx) (err error) {
				expired, next, left, err = outbox.Expired(tx, state, next, before, pruneStep)
				return err
			})
			if err == nil {
				err = r.remove(expired)
			}
			if err != nil {
				return oldest, err
			}
			if oldest.IsZero() || !left.IsZero() && left.Before(oldest) {
				oldest = left
			}
		}
	}
	return oldest, nil
}

func (r *Relay) remove(expired []uint64) error {
	for some := range slices.Chunk(expired, upkeepStep) {
		err := r.cfg.Store.Update(r.reading, func(tx *store.Tx) error {
			_, err := r.cfg.Outbox.Remove(tx, some)
			return err
		})
		if err != nil {
			return err
		}
	}
	return r.reading.Err()
}

// sweep removes the entries of removed batches, once tail has published what was written
// before the removal: an event is published before it is removed.
func (r *Relay) sweep() {
	for {
		select {
		case upTo := <-r.forgotten:
			if err := r.sweepAll(upTo); err != nil && r.reading.Err() == nil {
				r.log.Warn("events of removed batches not removed, trying again with the next event", "error", err)
			}
		case <-r.reading.Done():
			return
		}
	}
}

func (r *Relay) sweepAll(upTo uint64) error {
	var last uuid.UUID
	for {
		var batches []uuid.UUID
		err := r.cfg.Store.View(func(tx *store.Tx) (err error) {
			batches, err = outbox.Forgotten(tx, last, pruneStep)
			return err
		})
		if err != nil || len(batches) == 0 {
			return err
		}
		if err := r.sweepBatches(batches, upTo); err != nil {
			return err
		}
		last = batches[len(batches)-1]
	}
}

// sweepBatches removes entries of batches in small commits. Each commit covers as many
// batches as it has room for.
func (r *Relay) sweepBatches(batches []uuid.UUID, upTo uint64) error {
	for next := uint64(0); len(batches) > 0; {
		var done int
		err := r.cfg.Store.Update(r.reading, func(tx *store.Tx) (err error) {
			done, next, err = r.sweepSome(tx, batches, next, upTo)
			return err
		})
		if err != nil {
			return err
		}
		batches = batches[done:]
	}
	return nil
}

// sweepSome makes one commit. It returns how many batches are done, and the sequence from
// which the next commit continues.
func (r *Relay) sweepSome(tx *store.Tx, batches []uuid.UUID, after, upTo uint64) (done int, next uint64, err error) {
	next = after
	for room := upkeepStep; done < len(batches) && room > 0; {
		var seen int
		if seen, next, err = r.cfg.Outbox.Sweep(tx, batches[done], next, upTo, room); err != nil || next != 0 {
			return done, next, err
		}
		room -= seen + 1
		done++
	}
	return done, 0, nil
}
