package dispatch

import (
	"sync"
	"sync/atomic"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// eventTail follows the stored events of instances.
type eventTail struct {
	mu    sync.Mutex // held while events are read and published, in order
	after uint64
	ticks atomic.Int64 // Unix nanoseconds of the last turn
}

// startEvents notes where the live events begin, and returns the lanes with a backlog.
func (r *Relay) startEvents() (waiting []delivery.Backlog, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		if r.events.after, err = delivery.NewestEvent(tx); err != nil {
			return err
		}
		waiting, err = delivery.Backlogs(tx)
		return err
	})
	return waiting, err
}

// tailEvents publishes every stored event of an instance, in the order of the
// commits, and hands it to its lanes.
func (r *Relay) tailEvents() {
	for {
		wake := r.cfg.Store.Woken()
		r.readEvents()
		timer := time.NewTimer(idle)
		select {
		case <-wake:
		case <-timer.C: // so that its turns can be monitored
		case <-r.reading.Done():
			timer.Stop()
			return // Stop reads the events a last time
		}
		timer.Stop()
		r.wakes.events.Add(1)
	}
}

// eventStep is how many events are read at once; each may be large.
const eventStep = 64

// readEvents reads what was committed since the last call.
func (r *Relay) readEvents() {
	t := &r.events
	t.mu.Lock()
	defer t.mu.Unlock()
	for more := true; more; {
		t.ticks.Store(time.Now().UnixNano())
		events, until, err := r.eventsAfter(t.after)
		if err != nil {
			r.log.Error("stored events cannot be read", "error", err)
			return
		}
		for _, e := range events {
			t.after = e.Seq
			r.publish(e)
		}
		r.handOut(events)
		r.expiry.set(until)
		more = len(events) == eventStep
	}
}

// eventsAfter returns the next events, and the earliest expiry of a pending delivery.
func (r *Relay) eventsAfter(after uint64) (events []delivery.Event, until time.Time, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		if events, err = delivery.EventsAfter(tx, after, eventStep); err != nil {
			return err
		}
		until, err = delivery.ExpiryAfter(tx, tx.Steady())
		return err
	})
	return events, until, err
}

// publish sends a numbered event to WebSocket clients. They received other events when
// those were made.
func (r *Relay) publish(e delivery.Event) {
	if r.cfg.PublishInstance == nil || e.Sequence == 0 || e.Erased() {
		return
	}
	r.cfg.PublishInstance(event.Notice{
		Kind: e.Kind, Body: e.Body, InstanceID: e.Instance, InstanceName: e.Name, OwnerJID: e.OwnerJID, RequestID: e.RequestID,
		ID: e.ID, About: e.About, Sequence: e.Sequence, Stored: true,
	})
}

// handOut gives the lanes the deliveries of new events that may be sent. One that waits
// in a line follows when the previous one has ended.
func (r *Relay) handOut(events []delivery.Event) {
	rows := map[delivery.Lane][]row{}
	for _, e := range events {
		if len(e.To) > 0 {
			r.newEvents.put(e.Seq, e, len(e.Body))
		}
		for _, to := range e.To {
			if to.Head {
				rows[to.Lane] = append(rows[to.Lane], recordRow(to.Due))
			}
		}
	}
	for is, some := range rows {
		r.wake(is, some)
	}
}
