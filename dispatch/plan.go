package dispatch

import (
	"container/list"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"
)

// patience is how long an answer may take before its destination counts as hung, until
// the answer comes.
const patience = time.Second

// credit is the minimum time for which a destination without waiting deliveries or
// flights is remembered.
const credit = time.Minute

// fewHosts is the number of destinations up to which no old ones are searched for and
// removed.
const fewHosts = 1024

// standing is what the last outcome says about a destination.
type standing int

const (
	untried standing = iota
	good             // accepted
	failed           // did not accept, at once
	hung             // did not accept, after a long time
)

// host is one destination.
type host[T any] struct {
	name     string // host:port
	waiting  []T
	flying   int
	late     int // of these, without an answer for longer than patience
	standing standing
	proved   uint64    // attempts up to this one cannot reduce the standing
	answered time.Time // when it last accepted
	slow     bool      // the last attempt took longer than patience, or there was none yet
	since    time.Time // when it last went from rest to a flight
	spoke    time.Time // when it last answered, whatever the status
	pace     usual     // how long its answers take
	answers  tally
	mute     bool      // it had no answer while one of its flights became late, and others had
	idle     time.Time // since when it has had nothing to do
	blamed   int       // how many of its deliveries in flight plan.blamed counts
	tried    int       // and plan.tried

	line *list.List    // of plan's lines, nil when it is in none
	spot *list.Element // there
	turn uint64        // when it came there
	rank int           // in plan.holders
	seat int           // in plan.busy, while something is in flight
}

// suspect reports whether the host seems to hang: it hung last time, or it hangs now and
// has not accepted anything lately.
func (l *host[T]) suspect() bool {
	return l.standing == hung || l.late > 0 && (l.standing != good || l.mute)
}

// plan decides which destination may have one more delivery in flight, and whose turn it
// is. What waits is a T: a delivery of the queue, or a lane that has one to send. All
// functions are called with mu held.
//
// A late delivery lends its slot to destinations without late ones, so that hung
// destinations cannot block the others. As many slots can be lent as there are.
type plan[T any] struct {
	bounds
	launch func() // sends what may begin; called when a delivery has become late

	mu      sync.Mutex
	hosts   map[string]*host[T]
	sweepAt int // number of hosts from which on old ones are searched for

	// Hosts with waiting deliveries that may be served, in the order of their turns:
	// within their share those that accept, fail, were never tried, and are suspects, and
	// those beyond it.
	fair, failing, trials, suspects, eager list.List
	turns                                  uint64
	holders                                holders[T]

	busy        []*host[T] // those with a flight
	speaker     *host[T]   // the last to answer
	spoke       time.Time  // when
	spokeBefore time.Time  // when another one last answered
	answers     tally      // of all

	waiting  int
	flying   int
	late     int
	blamed   int // in flight to suspects
	tried    int // in flight to hosts that did not accept the last time, without lent ones
	attempts uint64

	counts *counts // of this search; nil: not counted yet
}

// slot is the right to one delivery in flight, from begin or again to leave.
type slot[T any] struct {
	what   T
	host   *host[T]
	began  time.Time
	number uint64
	alarm  *time.Timer // goes off when the delivery is late; nil if it is late from the start
	late   bool        // it is lent
	over   bool
}

// bounds are those of the deliveries in flight.
type bounds struct {
	slots int // without lent ones
	tries int // of these, for destinations that did not accept the last time
	share int // of a destination while others wait
	slow  int // in flight to a slow destination, or late to any
}

func newPlan[T any](b bounds, launch func()) *plan[T] {
	return &plan[T]{bounds: b, launch: launch, hosts: map[string]*host[T]{}, sweepAt: fewHosts}
}

// destination returns the host:port of a URL, which is attempted and judged as one.
func destination(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return target
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), port)
}

func (p *plan[T]) host(name string) *host[T] {
	l := p.hosts[name]
	if l == nil {
		if len(p.hosts) >= p.sweepAt {
			p.sweep(time.Now())
		}
		l = &host[T]{name: name, rank: -1, slow: true}
		p.hosts[name] = l
	}
	return l
}

// sweep removes hosts that were idle for long enough.
func (p *plan[T]) sweep(now time.Time) {
	for name, l := range p.hosts {
		if l.flying == 0 && len(l.waiting) == 0 && now.Sub(l.idle) >= credit {
			delete(p.hosts, name)
		}
	}
	p.sweepAt = max(fewHosts, 2*len(p.hosts))
}

// begin gives the next delivery that may be sent a slot, or returns nil.
func (p *plan[T]) begin() *slot[T] {
	l := p.choose()
	if l == nil {
		return nil
	}
	what := p.shift(l)
	p.quit(l) // its next turn comes after those of the others
	return p.fly(l, what)
}

// again ends a flight and begins another one to the same host in its slot.
func (p *plan[T]) again(s *slot[T]) *slot[T] {
	p.leave(s)
	return p.fly(s.host, s.what)
}

// wanted reports whether others wait for a slot that is used for a host.
func (p *plan[T]) wanted(l *host[T]) bool {
	return len(l.waiting) > 0 || p.waiting > 0 && p.full()
}

// full reports whether all slots are in use.
func (p *plan[T]) full() bool { return p.flying-p.late >= p.slots || p.flying >= 2*p.slots }

func (p *plan[T]) fly(l *host[T], what T) *slot[T] {
	p.attempts++
	s := &slot[T]{what: what, host: l, began: time.Now(), number: p.attempts}
	p.began(l, s.began)
	p.place(l)
	if l.suspect() {
		p.overdue(s) // it is lent from the start
		return s
	}
	s.alarm = time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !s.over {
			p.overdue(s)
			p.launch()
		}
	})
	return s
}

// choose returns the host whose turn it is, or nil if no delivery may be sent. The search
// skips only hosts with flights, so it is short however many wait.
func (p *plan[T]) choose() *host[T] {
	if p.full() {
		return nil
	}
	now := time.Now()
	p.counts = nil
	l := p.first(&p.fair, now)
	if p.mayTry() {
		l = earlier(l, earlier(p.first(&p.failing, now), p.first(&p.trials, now)))
	}
	if p.flying < p.slots && p.blamed < max(1, p.slots/2) {
		l = earlier(l, front[T](&p.suspects))
	}
	if l == nil {
		l = p.first(&p.eager, now)
	}
	return l
}

// earlier returns the host whose turn comes first. Either may be nil.
func earlier[T any](a, b *host[T]) *host[T] {
	if a == nil || b != nil && b.turn < a.turn {
		return b
	}
	return a
}

func (p *plan[T]) first(line *list.List, now time.Time) *host[T] {
	for e := line.Front(); e != nil; e = e.Next() {
		l, _ := e.Value.(*host[T])
		if p.room(l, now) {
			return l
		}
		if l.flying == 0 {
			return nil // nor is there room for the others that were never tried
		}
	}
	return nil
}

func front[T any](line *list.List) *host[T] {
	e := line.Front()
	if e == nil {
		return nil
	}
	l, _ := e.Value.(*host[T])
	return l
}

// mayTry reports whether a host that did not accept the last time may have one more in
// flight. The other slots, and as many lent ones, are left to those that accept.
func (p *plan[T]) mayTry() bool { return p.tried < p.tries && p.flying < p.slots+p.tries }

// room reports whether a host that is no suspect may have one more in flight.
func (p *plan[T]) room(l *host[T], now time.Time) bool {
	switch {
	case p.flying >= p.slots && (l.late > 0 || l.flying > 0 && now.Sub(l.answered) >= patience):
		return false // a slot is lent only to a host that answers, or to find out whether it does
	case l.standing == untried && l.flying > 0 && len(p.hosts) > 1:
		// Its flights may hang; a share is left for the others.
		return p.flying < max(1, p.slots-p.share) && p.mayTry() && p.may(l, now)
	default:
		return p.may(l, now)
	}
}

// overdue lends the slot of a late delivery to others.
func (p *plan[T]) overdue(s *slot[T]) {
	l := s.host
	if now := time.Now(); l.spoke.Before(s.began) && p.company(l, now) {
		l.mute = true
	}
	s.late = true
	l.late++
	p.late++
	p.place(l)
}

// answered notes the outcome of an attempt.
func (p *plan[T]) answered(s *slot[T], o Outcome) {
	l, now := s.host, time.Now()
	if o.Err == nil || o.Duration < patience {
		p.heard(l, o.Duration, now)
	}
	l.slow = o.Duration >= patience
	switch {
	case o.Delivered():
		l.standing, l.proved, l.answered = good, p.attempts, now
	case s.number <= l.proved:
		// It was sent before the last success, and says nothing new.
	case l.slow:
		l.standing = hung
	default:
		l.standing = failed
	}
	p.place(l)
}

// leave ends a flight.
func (p *plan[T]) leave(s *slot[T]) {
	l := s.host
	if s.over = true; s.alarm != nil {
		s.alarm.Stop()
	}
	if p.flying--; s.late {
		l.late--
		p.late--
	}
	if l.flying--; l.flying == 0 {
		p.rests(l)
		if len(l.waiting) == 0 {
			l.idle = time.Now()
		}
	}
	p.place(l)
}

// place puts the host at the end of its line, unless it is already there.
func (p *plan[T]) place(l *host[T]) {
	blamed, tried := 0, 0
	if l.suspect() {
		blamed = l.flying
	}
	if l.standing != good {
		tried = l.flying - l.late
	}
	p.blamed, p.tried = p.blamed+blamed-l.blamed, p.tried+tried-l.tried
	l.blamed, l.tried = blamed, tried
	line := p.lineOf(l)
	if line == l.line {
		return
	}
	p.quit(l)
	if line != nil {
		p.turns++
		l.line, l.turn = line, p.turns
		l.spot = line.PushBack(l)
	}
}

func (p *plan[T]) quit(l *host[T]) {
	if l.line != nil {
		l.line.Remove(l.spot)
		l.line, l.spot = nil, nil
	}
}

func (p *plan[T]) lineOf(l *host[T]) *list.List {
	switch within := l.flying < p.share; {
	case len(l.waiting) == 0 || l.flying >= p.slots || l.late >= p.slow || l.slow && l.flying >= p.slow:
		return nil
	case l.suspect() && within:
		return &p.suspects
	case l.suspect():
		return nil
	case within && l.standing == untried:
		return &p.trials
	case within && l.standing == failed:
		return &p.failing
	case within:
		return &p.fair
	case l.standing == failed:
		return nil
	default:
		return &p.eager
	}
}
