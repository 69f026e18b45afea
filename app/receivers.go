package app

import (
	"time"

	"postern/delivery"
	"postern/delivery/pull"
	"postern/delivery/receivers"
	"postern/dispatch"
	"postern/event"
	"postern/instance/webhooks"
)

// newReceivers returns the list of the receivers of webhooks.
func (a *App) newReceivers(resolve receivers.Resolver) *receivers.Book {
	return &receivers.Book{Config: receivers.Config{
		Store: a.store, Outbox: a.outbox, Health: a.health, Pauses: a.pauses, Resolve: resolve,
		Places: a.places, Pulling: a.pulling, Probe: a.relay.Probe,
		InMemory: func() map[delivery.Lane]receivers.InMemory {
			all := map[delivery.Lane]receivers.InMemory{}
			for lane, w := range a.queue.Waiting() {
				all[lane] = receivers.InMemory(w)
			}
			return all
		},
	}}
}

// places returns the destinations of an instance, of the global webhook, or of all.
func (a *App) places(of int64) (all []receivers.Place) {
	look := func(id int64, name string) {
		a.webhooks.Places(id, func(p webhooks.Place) {
			all = append(all, receivers.Place{Lane: p.Lane, Name: name, URL: p.URL, Enabled: p.Enabled, Durable: p.Durable, MaxAge: p.MaxAge})
		})
	}
	if of == receivers.All || of == webhooks.Global {
		look(webhooks.Global, "")
	}
	if of > 0 {
		if rec, err := a.registry.ByID(of); err == nil {
			look(of, rec.Name)
		}
	}
	if of == receivers.All {
		for _, rec := range a.registry.List() {
			look(rec.ID, rec.Name)
		}
	}
	return all
}

// pulling returns the consumers of an instance, of all events, or all.
func (a *App) pulling(of int64) (all []receivers.Pulling, err error) {
	found, err := a.consumers.All(of != receivers.All, max(of, 0))
	for _, c := range found {
		p := receivers.Pulling{Instance: c.Instance, Consumer: c.Name, Lag: c.Lag, Oldest: c.OldestWaiting, LastPull: c.LastPull}
		if c.Instance != pull.All {
			rec, err := a.registry.ByID(c.Instance)
			if err != nil {
				continue // deleted a moment ago
			}
			p.Name = rec.Name
		}
		all = append(all, p)
	}
	return all, err
}

// attempts counts what queue and relay deliver, and what receivers answer.
type attempts struct {
	metrics *metrics
	health  *receivers.Health
	now     func() time.Time
}

// queued counts a delivery of the queue.
func (a attempts) queued(n event.Notice, to event.Destination, o dispatch.Outcome) {
	a.attempted(delivery.LaneOf(n.InstanceID, to), to.URL, o)
}

// dropped counts a delivery for which the queue had no room.
func (a attempts) dropped(n event.Notice, to event.Destination) {
	a.health.Lose(receivers.Of(delivery.LaneOf(n.InstanceID, to)), 1)
}

// attempted counts an attempt to deliver, of the queue or of the relay.
func (a attempts) attempted(lane delivery.Lane, url string, o dispatch.Outcome) {
	a.metrics.attempted(lane, o)
	at := a.now().Add(-o.Duration)
	a.health.Note(receivers.Of(lane), receivers.Attempt{At: at, Took: o.Duration.Round(time.Microsecond), URL: url, Status: o.Status, Error: o.Reason(), Accepted: o.Delivered()})
}
