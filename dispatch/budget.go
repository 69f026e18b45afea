package dispatch

import (
	"slices"
	"sync"
	"time"
)

// Bounds of what all lanes together, except the outbox's, may have in flight, so that
// dead receivers never use up what the others need.
const (
	mostFlights = 512 // to receivers not taken to be down, except late ones
	mostTrials  = 256 // of these, of lanes that accepted nothing lately
	mostProbes  = 64  // to receivers taken to be down
)

// place is a kind of place in the budget.
type place int

const (
	provenPlace place = iota // of a lane that accepts
	trialPlace               // of a lane for which that is unknown
	probePlace               // of a lane whose receiver is taken to be down
	places
)

// seat is the place of a delivery, and the receiver to which it goes.
type seat struct {
	kind   place
	origin *origin
}

// budget assigns the places. A delivery that has had no answer for a second lends its
// place to others, and as many places can be lent as there are. Lanes that found none
// wait for their turn.
type budget struct {
	mu      sync.Mutex
	used    [places]int
	late    int
	origins map[string]*origin
	waiting [places][]*lane
	queued  [places]map[*lane]bool
}

func newBudget() *budget {
	b := &budget{origins: map[string]*origin{}}
	for p := range b.queued {
		b.queued[p] = map[*lane]bool{}
	}
	return b
}

// enter takes a place for a delivery to a receiver. If there is none, the lane is nudged
// when it may ask again.
func (b *budget) enter(p place, to string, l *lane) (s seat, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.room(p) {
		if !b.queued[p][l] {
			b.queued[p][l] = true
			b.waiting[p] = append(b.waiting[p], l)
		}
		return s, false
	}
	o := b.origin(to)
	if !b.admits(o, l) {
		return s, false
	}
	b.used[p]++
	o.flying++
	return seat{p, o}, true
}

// room reports whether there is a place. The caller holds b.mu.
func (b *budget) room(p place) bool {
	if p == probePlace {
		return b.used[probePlace] < mostProbes
	}
	flying := b.used[provenPlace] + b.used[trialPlace]
	common := flying-b.late < mostFlights && flying < 2*mostFlights
	return common && (p == provenPlace || b.used[trialPlace] < mostTrials)
}

// leave returns a place. late says that it was lent.
func (b *budget) leave(s seat, late bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used[s.kind]--
	s.origin.flying--
	b.landed(s, late)
	b.call()
	b.callOrigin(s.origin)
}

// landed notes that a place is no longer lent. The caller holds b.mu.
func (b *budget) landed(s seat, late bool) {
	if !late {
		return
	}
	s.origin.late--
	if s.kind != probePlace {
		b.late--
	}
}

// watch lends the place of a delivery once it is late. The returned function ends that,
// and reports whether the place was lent.
func (b *budget) watch(s seat) (landed func() (late bool)) {
	alarm := time.AfterFunc(patience, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if s.origin.late++; s.kind != probePlace {
			b.late++
			b.call()
		}
	})
	return func() bool { return !alarm.Stop() }
}

// wanted reports whether a lane waits for such a place.
func (b *budget) wanted(s seat) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting[s.kind]) > 0 || len(s.origin.waiting) > 0 || !s.origin.room()
}

// returned notes that its holder uses a place again. late says that it was lent
// meanwhile.
func (b *budget) returned(s seat, late bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.landed(s, late)
}

// pass calls waiting lanes if there is room. Each called lane calls pass in its turn, so
// that a place that it does not need goes to the next.
func (b *budget) pass(l *lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o := b.answersCall(l); o != nil {
		b.callOrigin(o) // the lane has nothing to send
	}
	b.call()
}

// forget takes a sleeping or stopping lane off the lists of waiting lanes.
func (b *budget) forget(l *lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopsWaiting(l)
	for p := range b.waiting {
		if b.queued[p][l] {
			delete(b.queued[p], l)
			b.waiting[p] = slices.DeleteFunc(b.waiting[p], func(w *lane) bool { return w == l })
		}
	}
	b.call() // calls another lane in its place
}

// call nudges a lane for each kind of free place. The caller holds b.mu.
func (b *budget) call() {
	for p, line := range b.waiting {
		if len(line) == 0 || !b.room(place(p)) {
			continue
		}
		l := line[0]
		line[0] = nil
		b.waiting[p] = line[1:]
		delete(b.queued[p], l)
		l.nudge()
	}
}
