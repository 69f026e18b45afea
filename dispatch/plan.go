package dispatch

import (
	"container/heap"
	"container/list"
	"net"
	"net/url"
	"slices"
	"strings"
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
type host struct {
	name     string // host:port
	waiting  []posting
	flying   int
	late     int // of these, without an answer for longer than patience
	standing standing
	proved   uint64        // attempts up to this one cannot reduce the standing
	answered time.Time     // when it last accepted
	slowest  time.Duration // the longest time in which a delivery was accepted
	since    time.Time     // when it last went from rest to a flight
	spoke    time.Time     // when it last answered, whatever the status
	pace     usual         // how long its answers take
	answers  tally
	mute     bool      // it had no answer while one of its flights became late, and others had
	idle     time.Time // since when it has had nothing to do
	blamed   int       // how many of its deliveries in flight plan.blamed counts

	line *list.List    // of plan's lines, nil when it is in none
	spot *list.Element // there
	turn uint64        // when it came there
	rank int           // in plan.holders
	seat int           // in plan.busy, while something is in flight
}

// suspect reports whether the host seems to hang: it hung last time, or it hangs now and
// has not accepted anything lately.
func (l *host) suspect() bool {
	return l.standing == hung || l.late > 0 && (l.standing != good || l.mute)
}

// plan decides which destination a worker serves next, and which one loses a place when
// all are taken. Its owner's lock guards it.
//
// There is a worker for each of a fixed number of deliveries. A late delivery lends its
// worker to destinations without late ones, so that hung destinations cannot block the
// others. As many workers can be lent as there are.
type plan struct {
	workers, share int
	hosts          map[string]*host
	sweepAt        int // number of hosts from which on old ones are searched for

	// Hosts with waiting deliveries that may be served, in the order of their turns:
	// within their share, never tried and within it, suspects within theirs, and beyond
	// it.
	fair, trials, suspects, eager list.List
	turns                         uint64
	holders                       holders

	busy        []*host   // those with a flight
	speaker     *host     // the last to answer
	spoke       time.Time // when
	spokeBefore time.Time // when another one last answered
	answers     tally     // of all

	waiting  int
	flying   int
	late     int
	blamed   int // in flight to suspects
	attempts uint64
}

func newPlan(workers, share int) *plan {
	return &plan{workers: workers, share: share, hosts: map[string]*host{}, sweepAt: fewHosts}
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

func (p *plan) host(name string) *host {
	l := p.hosts[name]
	if l == nil {
		if len(p.hosts) >= p.sweepAt {
			p.sweep(time.Now())
		}
		l = &host{name: name, rank: -1}
		p.hosts[name] = l
	}
	return l
}

// sweep removes hosts that were idle for long enough.
func (p *plan) sweep(now time.Time) {
	for name, l := range p.hosts {
		if l.flying == 0 && len(l.waiting) == 0 && now.Sub(l.idle) >= credit {
			delete(p.hosts, name)
		}
	}
	p.sweepAt = max(fewHosts, 2*len(p.hosts))
}

// add appends a delivery to those of its host.
func (p *plan) add(d posting) {
	d.host.waiting = append(d.host.waiting, d)
	p.waiting++
	p.holders.changed(d.host)
	p.place(d.host)
}

// displace makes a place for a new delivery of l by dropping the newest delivery of the
// host that holds most. If that is l, the new delivery must be refused and ok is false.
func (p *plan) displace(l *host) (dropped posting, ok bool) {
	payer := p.holders[0]
	if len(l.waiting) >= len(payer.waiting) {
		return posting{}, false
	}
	last := len(payer.waiting) - 1
	dropped = payer.waiting[last]
	payer.waiting[last] = posting{}
	payer.waiting = payer.waiting[:last]
	p.waiting--
	p.holders.changed(payer)
	p.place(payer)
	return dropped, true
}

// withdraw removes the waiting deliveries that meant selects from all hosts, and returns
// them.
func (p *plan) withdraw(meant func(posting) bool) (all []posting) {
	for _, l := range slices.Clone(p.holders) {
		n := len(all)
		l.waiting = slices.DeleteFunc(l.waiting, func(d posting) bool {
			if !meant(d) {
				return false
			}
			all = append(all, d)
			return true
		})
		if len(all) > n {
			p.waiting -= len(all) - n
			p.holders.changed(l)
			p.place(l)
		}
	}
	return all
}

// drop removes all waiting deliveries of the host and returns them.
func (p *plan) drop(l *host) (dropped []posting) {
	dropped = l.waiting
	l.waiting = nil
	p.waiting -= len(dropped)
	p.holders.changed(l)
	p.place(l)
	return dropped
}

// take returns the next delivery that may be sent, and counts it as in flight.
func (p *plan) take() (d posting, number uint64, ok bool) {
	l := p.next()
	if l == nil {
		return posting{}, 0, false
	}
	d = l.waiting[0]
	l.waiting[0] = posting{}
	l.waiting = l.waiting[1:]
	if len(l.waiting) == 0 {
		l.waiting = nil
	}
	p.waiting--
	p.attempts++
	p.began(l, time.Now())
	p.holders.changed(l)
	p.leave(l) // its next turn comes after those of the others
	p.place(l)
	return d, p.attempts, true
}

// next returns the host whose turn it is, or nil if no delivery may be sent. The search
// skips only hosts with flights, so it is short however many wait.
func (p *plan) next() *host {
	if p.flying-p.late >= p.workers || p.flying >= 2*p.workers {
		return nil
	}
	now := time.Now()
	l := earlier(p.first(&p.fair, now), p.first(&p.trials, now))
	if p.flying < p.workers && p.blamed < max(1, p.workers/2) {
		l = earlier(l, front(&p.suspects))
	}
	if l == nil {
		l = p.first(&p.eager, now)
	}
	return l
}

// earlier returns the host whose turn comes first. Either may be nil.
func earlier(a, b *host) *host {
	if a == nil || b != nil && b.turn < a.turn {
		return b
	}
	return a
}

func (p *plan) first(line *list.List, now time.Time) *host {
	for e := line.Front(); e != nil; e = e.Next() {
		l, _ := e.Value.(*host)
		if p.room(l, now) {
			return l
		}
		if l.flying == 0 {
			return nil // nor is there room for the others that were never tried
		}
	}
	return nil
}

func front(line *list.List) *host {
	e := line.Front()
	if e == nil {
		return nil
	}
	l, _ := e.Value.(*host)
	return l
}

// room reports whether a host that is no suspect may have one more in flight.
func (p *plan) room(l *host, now time.Time) bool {
	switch {
	case p.flying >= p.workers && (l.late > 0 || l.flying > 0 && now.Sub(l.answered) >= patience):
		return false // a worker is lent only to a host that answers, or to find out whether it does
	case l.standing == untried && l.flying > 0 && len(p.hosts) > 1:
		// Its flights may hang; a share is left for the others.
		return p.flying < max(1, p.workers-p.share) && p.may(l, now)
	default:
		return p.may(l, now)
	}
}

// overdue notes that a delivery that began at that time has become late.
func (p *plan) overdue(l *host, began time.Time) {
	if now := time.Now(); l.spoke.Before(began) && p.company(l, now) {
		l.mute = true
	}
	l.late++
	p.late++
	p.place(l)
}

// landed notes the outcome of an attempt.
func (p *plan) landed(l *host, number uint64, late bool, o Outcome) {
	now := time.Now()
	if p.flying--; late {
		l.late--
		p.late--
	}
	if l.flying--; l.flying == 0 {
		p.rests(l)
	}
	if o.Err == nil || o.Duration < patience {
		p.heard(l, o.Duration, now)
	}
	switch {
	case o.Delivered():
		l.standing, l.proved, l.answered = good, p.attempts, now
		l.slowest = max(l.slowest, o.Duration)
	case number <= l.proved:
		// It was sent before the last success, and says nothing new.
	case o.Duration >= patience:
		l.standing = hung
	default:
		l.standing = failed
	}
	if l.flying == 0 && len(l.waiting) == 0 {
		l.idle = now
	}
	p.place(l)
}

// place puts the host at the end of its line, unless it is already there.
func (p *plan) place(l *host) {
	blamed := 0
	if l.suspect() {
		blamed = l.flying
	}
	p.blamed += blamed - l.blamed
	l.blamed = blamed
	line := p.lineOf(l)
	if line == l.line {
		return
	}
	p.leave(l)
	if line != nil {
		p.turns++
		l.line, l.turn = line, p.turns
		l.spot = line.PushBack(l)
	}
}

func (p *plan) leave(l *host) {
	if l.line != nil {
		l.line.Remove(l.spot)
		l.line, l.spot = nil, nil
	}
}

func (p *plan) lineOf(l *host) *list.List {
	switch within := l.flying < p.share; {
	case len(l.waiting) == 0 || l.flying >= p.workers:
		return nil
	case l.suspect() && within:
		return &p.suspects
	case l.suspect():
		return nil
	case within && l.standing == untried:
		return &p.trials
	case within:
		return &p.fair
	case l.standing == failed:
		return nil
	default:
		return &p.eager
	}
}

// holders is a heap of the hosts with waiting deliveries, the one with most first.
type holders []*host

// changed moves the host to the position that its number of places requires.
func (h *holders) changed(l *host) {
	switch {
	case len(l.waiting) == 0 && l.rank >= 0:
		heap.Remove(h, l.rank)
	case len(l.waiting) == 0:
	case l.rank < 0:
		heap.Push(h, l)
	default:
		heap.Fix(h, l.rank)
	}
}

// Len implements [heap.Interface].
func (h holders) Len() int           { return len(h) }
func (h holders) Less(i, j int) bool { return len(h[i].waiting) > len(h[j].waiting) }
func (h holders) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].rank, h[j].rank = i, j
}

// Push implements [heap.Interface].
func (h *holders) Push(x any) {
	l, _ := x.(*host)
	l.rank = len(*h)
	*h = append(*h, l)
}

// Pop implements [heap.Interface].
func (h *holders) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	l.rank = -1
	return l
}
