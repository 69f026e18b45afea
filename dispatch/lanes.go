package dispatch

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"postern/delivery"
	"postern/store"
)

// wake gives a lane of package delivery rows that may be sent. A sleeping lane wakes, and
// reads these and all other rows from the file.
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
		r.clearLater(is) // it was written for a destination that was removed meanwhile
		return
	default:
		return
	}
	l := r.durableLane(is)
	r.lanes[is] = l
	r.senders.Go(l.feed)
}

// rouse wakes the lanes with a backlog.
func (r *Relay) rouse(waiting []delivery.Backlog) {
	for _, b := range waiting {
		if b.Pending > 0 {
			r.wake(b.Lane, nil)
		}
	}
}

// awake returns the lanes of package delivery that are awake.
func (r *Relay) awake() (all []*lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lanes {
		all = append(all, l)
	}
	return all
}

// retire puts a lane to sleep, unless there are rows for it after all. Later calls of
// wake then find it asleep.
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

// Changed reports lanes that may lead to a new address, or were enabled, disabled or
// removed. Deliveries that wait for a removed one are cancelled. Changed does not block.
func (r *Relay) Changed(lanes []delivery.Lane) {
	for _, is := range lanes {
		if is == delivery.BatchLane {
			r.batch.change()
		}
		if !r.tell(is) {
			r.wake(is, nil) // it sleeps again if nothing waits
		}
	}
}

// tell makes a lane that is awake look up its destination. A removed destination gets
// nothing more.
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

// clearStep bounds the deliveries that one commit cancels.
const clearStep = 500

// clearLater cancels the deliveries that wait for a removed destination. What a stop
// leaves of them, the next start cancels. The caller holds r.mu.
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

// Clear cancels the deliveries that wait for removed destinations, before others take
// their names. It skips lanes that were not removed.
func (r *Relay) Clear(ctx context.Context, lanes []delivery.Lane) error {
	for _, is := range lanes {
		if err := r.clear(ctx, is); err != nil {
			return fmt.Errorf("cancel what waits for endpoint %q: %w", is.Endpoint, err)
		}
	}
	return nil
}

// clear checks in each commit that the destination is still removed: deliveries committed
// for one that exists again must stay.
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

// Ended releases the deliveries that waited for others which ended other than by an
// attempt.
func (r *Relay) Ended(all []delivery.Ended) {
	r.ended.count(all)
	r.lost(all)
	for _, e := range all {
		if e.Follows != nil {
			r.wake(e.Record.Lane, []row{recordRow(*e.Follows)})
		}
	}
}

// lost reports deliveries that expired or had no room.
func (r *Relay) lost(all []delivery.Ended) {
	if r.cfg.Lost == nil {
		return
	}
	by := map[delivery.Lane]int{}
	for _, e := range all {
		if s := e.Record.State; s == delivery.Expired || s == delivery.Cancelled && e.Record.LastError == delivery.ReasonCapacity {
			by[e.Record.Lane]++
		}
	}
	for is, n := range by {
		r.cfg.Lost(is, n)
	}
}

// Made releases deliveries that were not made with an event: those of a replay.
func (r *Relay) Made(is delivery.Lane, dues []delivery.Due) {
	r.wake(is, recordRows(dues))
}

// Waiting describes the pending deliveries of package delivery.
type Waiting struct {
	Pending int
	Bytes   int64     // of bodies, each destination counted
	Oldest  time.Time // when the oldest that may be sent was made, zero if there is none
}

// Waiting returns the pending deliveries by flow. It does not count batch events in the
// outbox.
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

// backlogs returns the lanes with pending deliveries.
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

// busy reports whether the lane has a delivery to send now.
func (l *lane) busy() bool {
	return (l.tasks.Load() > 0 || l.passWanted.Load() || !l.board.empty()) && !l.board.down()
}

// endings counts deliveries that ended without an accepted attempt.
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
