package dispatch

import (
	"slices"
	"time"
)

// Many lanes may lead to one receiver, identified by host and port: endpoints of many
// instances at one company. The deliveries in flight to a slow receiver are bounded for
// all of its lanes together, since each costs a connection and three goroutines for as
// long as it waits.

// mostSlow bounds the deliveries in flight to a receiver whose last answer took longer
// than patience, or has not come yet. It also bounds, for any receiver, the deliveries
// that have waited that long for an answer.
const mostSlow = 32

// origin is a receiver with deliveries in flight, or for which lanes wait. The budget's
// lock guards it.
type origin struct {
	name     string
	flying   int
	late     int  // of these, without an answer for longer than patience
	slow     bool // the last answer took longer, or none came yet
	waiting  []*lane
	promised int // lanes that were called and have not come yet
}

// room reports whether one more delivery may be sent.
func (o *origin) room() bool {
	return o.late+o.promised < mostSlow && (!o.slow || o.flying+o.promised < mostSlow)
}

// origin returns the state of a receiver. The caller holds b.mu.
func (b *budget) origin(name string) *origin {
	o := b.origins[name]
	if o == nil {
		o = &origin{name: name, slow: true}
		b.origins[name] = o
	}
	return o
}

// admits reports whether a lane may send to its receiver now. If not, the lane is nudged
// in its turn. The caller holds b.mu.
func (b *budget) admits(o *origin, l *lane) bool {
	if l.calledBy == o {
		b.answersCall(l)
		if o.room() {
			return true
		}
	}
	if l.waitsFor != o {
		b.stopsWaiting(l)
	}
	if o.room() && len(o.waiting) == 0 {
		return true
	}
	if l.waitsFor == nil {
		l.waitsFor = o
		o.waiting = append(o.waiting, l)
	}
	return false
}

// answered notes how long an attempt took.
func (b *budget) answered(s seat, took time.Duration) {
	if s.origin == nil {
		return // the lane of the outbox has its own places
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.origin.slow = took >= patience
}

// stopsWaiting takes a lane off the list of the receiver for which it waits; if that has
// called the lane, it calls another one instead. The caller holds b.mu.
func (b *budget) stopsWaiting(l *lane) {
	if o := l.waitsFor; o != nil {
		l.waitsFor = nil
		o.waiting = slices.DeleteFunc(o.waiting, func(w *lane) bool { return w == l })
		b.tidyOrigin(o)
	}
	if o := b.answersCall(l); o != nil {
		b.callOrigin(o)
	}
}

// answersCall returns the receiver that had called a lane, or nil. The caller holds b.mu.
func (b *budget) answersCall(l *lane) *origin {
	o := l.calledBy
	if o != nil {
		l.calledBy = nil
		o.promised--
	}
	return o
}

// callOrigin nudges lanes whose turn it is. The caller holds b.mu.
func (b *budget) callOrigin(o *origin) {
	for len(o.waiting) > 0 && o.room() {
		l := o.waiting[0]
		o.waiting[0] = nil
		o.waiting = o.waiting[1:]
		l.waitsFor, l.calledBy = nil, o
		o.promised++
		l.nudge()
	}
	b.tidyOrigin(o)
}

// tidyOrigin removes an unused receiver. The caller holds b.mu.
func (b *budget) tidyOrigin(o *origin) {
	if o.flying == 0 && len(o.waiting) == 0 && o.promised == 0 {
		delete(b.origins, o.name)
	}
}
