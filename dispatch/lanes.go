package dispatch

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"postern/delivery"
	"postern/store"
)

// wake gives a lane of package delivery rows that may be sent. One that sleeps
// wakes, and finds them, with all others, in the file.
func (r *Relay) wake(is delivery.Lane, rows []row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakeLocked(is, rows)
}

func (r *Relay) wakeLocked(is delivery.Lane, rows []row) {
	if l := r.lanes[is]; l != nil {
		l.hand(rows)
		return
	}
	if r.stopped || !r.started {
		return
	}
	switch _, status := r.resolve(is); status {
	case delivery.Ready:
	case delivery.Gone:
		r.clearLater(is) // it was written for a destination that went meanwhile
		return
	default:
		return
	}
	l := r.durableLane(is)
	r.lanes[is] = l
	r.senders.Go(l.feed)
}

// rouse wakes the lanes that have something waiting.
func (r *Relay) rouse(waiting []delivery.Backlog) {
	for _, b := range waiting {
		if b.Pending > 0 {
			r.wake(b.Lane, nil)
		}
	}
}

// awake are the lanes of package delivery that are awake.
func (r *Relay) awake() (all []*lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lanes {
		all = append(all, l)
	}
	return all
}

// retire puts a lane to sleep, unless there is something for it after all. Who
// has something for it then finds that it sleeps.
func (r *Relay) retire(l *lane) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !l.board.empty() || len(l.fresh) > 0 || len(l.retries) > 0 {
		return false
	}
	delete(r.lanes, l.is)
	l.board.close()
	l.hangUp(nil)
	if l.changed.Load() {
		r.wakeLocked(l.is, nil)
	}
	return true
}

// Changed tells that lanes may lead elsewhere than before, are enabled, disabled
// or removed. What waits for one that was removed is cancelled. It does not
// block.
func (r *Relay) Changed(lanes []delivery.Lane) {
	for _, is := range lanes {
		if is == delivery.BatchLane {
			r.batch.change()
		}
		if !r.tell(is) {
			r.wake(is, nil) // it goes back to sleep if nothing waits
		}
	}
}

// tell has a lane that is awake look where it leads. To one that was removed,
// nothing goes out any more.
func (r *Relay) tell(is delivery.Lane) (awake bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lanes[is]
	if l == nil {
		return false
	}
	if _, status := r.resolve(is); status == delivery.Gone {
		l.hangUp(errRemoved)
		r.clearLater(is)
	}
	l.change()
	return true
}

// clearStep is how many deliveries one commit cancels.
const clearStep = 500

// clearLater cancels what waits for a destination that was removed. What a stop
// leaves of it, the next start does. The caller holds r.mu.
func (r *Relay) clearLater(is delivery.Lane) {
	if r.stopped || !r.started {
		return
	}
	r.senders.Go(func() {
		if err := r.clear(r.reading, is); err != nil && r.reading.Err() == nil {
			r.log.Error("what waits for a removed webhook is not cancelled", "instance_id", is.Instance, "endpoint", is.Endpoint, "error", err)
		}
	})
}

// Clear cancels what waits for destinations that were removed, before others
// take their names. Of those that were not removed it does nothing.
func (r *Relay) Clear(ctx context.Context, lanes []delivery.Lane) error {
	for _, is := range lanes {
		if err := r.clear(ctx, is); err != nil {
			return fmt.Errorf("cancel what waits for endpoint %q: %w", is.Endpoint, err)
		}
	}
	return nil
}

// clear looks in each commit whether the destination is gone still: what is
// committed for one that has come back since has to stay.
func (r *Relay) clear(ctx context.Context, is delivery.Lane) error {
	for more := true; more; {
		var ended []delivery.Ended
		err := r.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
			ended, more = nil, false
			if _, status := r.resolve(is); status != delivery.Gone {
				return nil
			}
			ended, more, err = r.cfg.Ledger.CancelLane(tx, is, delivery.ReasonRemoved, clearStep)
			return err
		})
		if err != nil {
			return err
		}
		r.ended.count(ended)
	}
	return nil
}

// Ended lets out what waited for deliveries that came to their end other than by
// an attempt.
func (r *Relay) Ended(all []delivery.Ended) {
	r.ended.count(all)
	for _, e := range all {
		if e.Follows != nil {
			r.wake(e.Record.Lane, []row{recordRow(*e.Follows)})
		}
	}
}

// Made lets out deliveries that were made other than with an event: those of a
// replay.
func (r *Relay) Made(is delivery.Lane, dues []delivery.Due) {
	r.wake(is, recordRows(dues))
}

// Waiting is what waits in package delivery.
type Waiting struct {
	Pending int
	Bytes   int64     // of bodies, each destination counted
	Oldest  time.Time // when the oldest of what may be sent was made, zero when there is none
}

// Waiting tells what waits, by flow. Batch events that wait in the outbox are not
// counted.
func (r *Relay) Waiting() (map[delivery.Flow]Waiting, error) {
	by := map[delivery.Flow]Waiting{}
	first := map[delivery.Flow]uint64{}
	err := r.cfg.Store.View(func(tx *store.Tx) error {
		all, err := delivery.Backlogs(tx)
		if err != nil {
			return err
		}
		for _, b := range all {
			w := by[b.Lane.Flow]
			w.Pending += b.Pending
			w.Bytes += b.Bytes
			by[b.Lane.Flow] = w
			heads, err := delivery.PendingAfter(tx, b.Lane, 0, 1)
			if err != nil {
				return err
			}
			if seen := first[b.Lane.Flow]; len(heads) > 0 && (seen == 0 || heads[0].Record < seen) {
				first[b.Lane.Flow] = heads[0].Record
			}
		}
		for flow, record := range first {
			rec, _, found, err := r.cfg.Ledger.Load(tx, record)
			if w := by[flow]; err == nil && found {
				w.Oldest = rec.CreatedAt
				by[flow] = w
			}
		}
		return nil
	})
	return by, err
}

// backlogs are the lanes with something pending.
func (r *Relay) backlogs() (waiting []delivery.Backlog, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		waiting, err = delivery.Backlogs(tx)
		return err
	})
	return waiting, err
}

// drain waits until the lane has sent what was committed before, its breaker
// opens, or ctx ends.
func (l *lane) drain(ctx context.Context) {
	look := time.NewTicker(glance)
	defer look.Stop()
	for l.busy() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// busy reports whether the lane has something to send now.
func (l *lane) busy() bool {
	return (l.tasks.Load() > 0 || l.passWanted.Load() || !l.board.empty()) && !l.board.down()
}

// endings counts deliveries that came to their end without an accepted attempt.
type endings struct {
	expired, removed atomic.Uint64
}

func (c *endings) count(all []delivery.Ended) {
	for _, e := range all {
		switch {
		case e.Record.State == delivery.Expired:
			c.expired.Add(1)
		case e.Record.State == delivery.Cancelled && e.Record.LastError == delivery.ReasonRemoved:
			c.removed.Add(1)
		}
	}
}
