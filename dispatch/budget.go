package dispatch

import (
	"slices"
	"sync"
	"time"
)

// What all lanes together may have in flight, the outbox's aside, so that
// receivers that are dead can never use up what the others need.
const (
	mostFlights = 512 // to receivers that are not held to be down, those that are late aside
	mostTrials  = 256 // of these, of lanes that accepted nothing lately
	mostProbes  = 64  // to receivers that are held to be down
)

// place is a kind of place in the budget.
type place int

const (
	provenPlace place = iota // of a lane that accepts
	trialPlace               // of one of which that is not known
	probePlace               // of one that is held to be down
	places
)

// budget gives out the places. A delivery that has had no answer for a second
// lends its place to others, and as many can be lent as there are. Lanes that
// found none wait for their turn.
type budget struct {
	mu      sync.Mutex
	used    [places]int
	late    int
	waiting [places][]*lane
	queued  [places]map[*lane]bool
}

func newBudget() *budget {
	b := &budget{}
	for p := range b.queued {
		b.queued[p] = map[*lane]bool{}
	}
	return b
}

// enter takes a place. Without one, the lane is nudged when it may ask again.
func (b *budget) enter(p place, l *lane) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.room(p) {
		b.used[p]++
		return true
	}
	if !b.queued[p][l] {
		b.queued[p][l] = true
		b.waiting[p] = append(b.waiting[p], l)
	}
	return false
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

// leave gives a place back. late tells that it was lent.
func (b *budget) leave(p place, late bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used[p]--
	if late {
		b.late--
	}
	b.call()
}

// watch lends the place of a delivery once it is late. The function that it
// returns ends that, and reports whether it was.
func (b *budget) watch(p place) (landed func() (late bool)) {
	if p == probePlace {
		return func() bool { return false }
	}
	alarm := time.AfterFunc(patience, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.late++
		b.call()
	})
	return func() bool { return !alarm.Stop() }
}

// wanted reports whether somebody waits for a place of a kind.
func (b *budget) wanted(p place) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting[p]) > 0
}

// returned notes that a place which was lent is used again by who has it.
func (b *budget) returned() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.late--
}

// pass calls whoever waits, when there is room. Each lane that was called does so
// in its turn, so that a place for which it has no use comes to the next.
func (b *budget) pass() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.call()
}

// forget takes a lane that sleeps, or stops, off the list of those that wait.
func (b *budget) forget(l *lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p := range b.waiting {
		if b.queued[p][l] {
			delete(b.queued[p], l)
			b.waiting[p] = slices.DeleteFunc(b.waiting[p], func(w *lane) bool { return w == l })
		}
	}
	b.call() // in its place
}

// call nudges a lane for each kind of place that there is. The caller holds b.mu.
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
