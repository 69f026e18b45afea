package delivery

import (
	"postern/event"
	"postern/store"
)

// here reports whether a destination exists, enabled or not.
func (l *Ledger) here(lane Lane) (to event.Destination, here bool) {
	to, status := l.cfg.Resolve(lane)
	return to, status == Paused || status == Ready
}

// Destinations caches the destinations of lanes during one list or selection.
type Destinations struct {
	l     *Ledger
	known map[Lane]whereabouts
}

type whereabouts struct {
	to   event.Destination
	here bool
}

// Destinations returns an empty cache.
func (l *Ledger) Destinations() Destinations { return Destinations{l, map[Lane]whereabouts{}} }

// Replayable reports whether a record can be sent again: its body is kept, and its destination
// exists; for a credential it must be unchanged.
func (d Destinations) Replayable(tx *store.Tx, r Record) bool {
	now, known := d.known[r.Lane]
	if !known {
		now.to, now.here = d.l.here(r.Lane)
		d.known[r.Lane] = now
	}
	return now.here && r.MadeFor(now.to) && KeepsBody(tx, r)
}
