package dispatch

import "sync"

// laneBounds are those of all lanes together, except the outbox's, so that dead receivers
// never use up what the others need.
var laneBounds = bounds{slots: mostFlights, tries: mostFlights / 2, share: mostSlow, slow: mostSlow}

const (
	mostFlights = 512
	// mostSlow is small, since each of these costs a connection and three goroutines for
	// as long as it waits.
	mostSlow = 32
)

// outboxBounds let the outbox have so many in flight, even if the receiver hangs: that may
// take half of the slots.
func outboxBounds(workers int) bounds {
	return bounds{slots: 2 * workers, tries: 2 * workers, share: workers, slow: workers}
}

// pool sends what lanes have, in the order of a plan. The plan's lock guards its lanes.
type pool struct {
	*plan[*ticket]
	senders *sync.WaitGroup
}

// ticket is what a lane waits with for a slot, and then the entry that is sent there.
type ticket struct {
	lane   *lane
	flight flight
}

type laneSlot = slot[*ticket]

func newPool(b bounds, senders *sync.WaitGroup) *pool {
	p := &pool{senders: senders}
	p.plan = newPlan[*ticket](b, p.start)
	return p
}

// send starts what a lane may send now.
func (p *pool) send(l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ask(l)
	p.start()
}

// ask makes a lane wait for a slot if it has something to send. It waits once, so that
// lanes take turns. The caller holds p.mu.
func (p *pool) ask(l *lane) {
	if !l.asks && l.board.sends() {
		l.asks = true
		p.add(p.host(l.to), &ticket{lane: l})
	}
}

// turn makes a lane lead to another receiver, or to none.
func (p *pool) turn(l *lane, to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.asks && to != l.to {
		l.asks = false
		p.withdraw(func(t *ticket) bool { return t.lane == l })
	}
	l.to = to
}

// start starts a sender for each entry that may be sent. The caller holds p.mu.
func (p *pool) start() {
	for s := p.next(); s != nil; s = p.next() {
		p.senders.Go(func() { p.run(s) })
	}
}

// next returns a slot with the entry to be sent, or nil. The caller holds p.mu.
func (p *pool) next() *laneSlot {
	for s := p.begin(); s != nil; s = p.begin() {
		l, ok := s.what.lane, false
		l.asks = false
		if s.what.flight, ok = l.board.take(); ok {
			p.ask(l) // for the next one
			return s
		}
		p.leave(s)
	}
	return nil
}

// run is a sender: it continues as long as there is a slot.
func (p *pool) run(s *laneSlot) {
	for s != nil {
		next, more := s.what.lane.deliver(s)
		s = p.landed(s, next, more)
	}
}

// landed ends a flight and returns the sender's next one, if any. That is the next of the
// line, if it follows at once.
func (p *pool) landed(s *laneSlot, next flight, more bool) *laneSlot {
	p.mu.Lock()
	defer p.mu.Unlock()
	if more {
		s.what.flight = next
		return p.again(s)
	}
	p.leave(s)
	p.ask(s.what.lane)
	after := p.next()
	p.start()
	return after
}

// judge notes the outcome of an attempt.
func (p *pool) judge(s *laneSlot, o Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered(s, o)
}

// othersWait reports whether other lanes wait for a slot that is in use.
func (p *pool) othersWait(s *laneSlot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted(s.host)
}
