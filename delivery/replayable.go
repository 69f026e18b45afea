package delivery

import (
	"postern/event"
	"postern/store"
)

// here tells whether a destination is there, enabled or not.
func (l *Ledger) here(lane Lane) (to event.Destination, here bool) {
	to, status := l.cfg.Resolve(lane)
	return to, status == Paused || status == Ready
}

// destinations remembers where lanes lead while one list or selection is read.
type destinations struct {
	l     *Ledger
	known map[Lane]whereabouts
}

type whereabouts struct {
	to   event.Destination
	here bool
}

func (l *Ledger) destinations() destinations { return destinations{l, map[Lane]whereabouts{}} }

// replayable tells whether a record can be sent again: its body is kept, and its
// destination is there; that of a credential is still the same.
func (d destinations) replayable(tx *store.Tx, r Record) bool {
	now, known := d.known[r.Lane]
	if !known {
		now.to, now.here = d.l.here(r.Lane)
		d.known[r.Lane] = now
	}
	return now.here && r.MadeFor(now.to) && keepsBody(tx, r)
}
