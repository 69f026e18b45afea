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

// patience is how long an answer may take before its destination is held to
// hang, until it comes.
const patience = time.Second

// credit is how long a destination is remembered at least that has nothing
// waiting and nothing in flight.
const credit = time.Minute

// fewHosts is how many destinations are remembered without looking for those
// to forget.
const fewHosts = 1024

// standing is what the last outcome told about a destination.
type standing int

const (
	untried standing = iota
	good             // accepted
	failed           // did not, at once
	hung             // did not, and took its time over it
)

// host is one destination.
type host struct {
	name     string // host:port
	waiting  []posting
	flying   int
	late     int // of these, without an answer for longer than patience
	standing standing
	proved   uint64        // the attempts up to this one cannot take the standing away
	answered time.Time     // when it last accepted
	slowest  time.Duration // that an accepted delivery took
	since    time.Time     // when it last began to have something in flight
	spoke    time.Time     // when it last answered, whatever the status
	pace     usual         // how long its answers take
	answers  tally
	mute     bool      // it had no answer while one in flight became late, and others did
	idle     time.Time // since when there was nothing to do
	blamed   int       // how many of its deliveries in flight plan.blamed counts

	line *list.List    // of plan's lines, nil when it is in none
	spot *list.Element // there
	turn uint64        // when it came there
	rank int           // in plan.holders
	seat int           // in plan.busy, while something is in flight
}

// suspect reports whether the host seems to hang: it did so last time, or it
// does so now and has not accepted anything lately.
func (l *host) suspect() bool {
	return l.standing == hung || l.late > 0 && (l.standing != good || l.mute)
}

// plan decides which destination a worker serves next, and who pays when all
// places are taken. It is guarded by its owner's lock.
//
// There are workers for so many deliveries. One that is late lends its worker
// to destinations that have none late, so that those that hang cannot stop the
// others; that is bounded by as many again.
type plan struct {
	workers, share int
	hosts          map[string]*host
	sweepAt        int // number of hosts at which to look for those to forget

	// Lanes with something waiting that may be served, in the order of their
	// turns: within their share, the same of those never tried, suspects within
	// theirs, and beyond it.
	fair, trials, suspects, eager list.List
	turns                         uint64
	holders                       holders

	busy        []*host   // those with something in flight
	speaker     *host     // who answered last
	spoke       time.Time // when
	spokeBefore time.Time // when another one answered last
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

// destination is the host:port of a URL, which is what is tried, and judged,
// as one.
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

// sweep forgets hosts that were idle for long enough.
func (p *plan) sweep(now time.Time) {
	for name, l := range p.hosts {
		if l.flying == 0 && len(l.waiting) == 0 && now.Sub(l.idle) >= credit {
			delete(p.hosts, name)
		}
	}
	p.sweepAt = max(fewHosts, 2*len(p.hosts))
}

// add puts a delivery at the end of its host.
func (p *plan) add(d posting) {
	d.host.waiting = append(d.host.waiting, d)
	p.waiting++
	p.holders.changed(d.host)
	p.place(d.host)
}

// displace makes a place for a newcomer of l, by dropping the newest delivery
// of the host that holds most. When that is l, the newcomer has to pay itself
// and ok is false.
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

// withdraw takes off all hosts what waits and is meant, and returns it.
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

// drop takes everything off the host that waits and returns it.
func (p *plan) drop(l *host) (dropped []posting) {
	dropped = l.waiting
	l.waiting = nil
	p.waiting -= len(dropped)
	p.holders.changed(l)
	p.place(l)
	return dropped
}

// take returns the next delivery that may go out, and counts it as in flight.
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

// next is the host whose turn it is, or nil when no delivery may go out. Only
// hosts with something in flight are passed over, so that the search is short
// however many wait.
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

// earlier is the one of two hosts whose turn comes first. Either may be nil.
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
			return nil // nor is there for the others that were never tried
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
		return false // only to one that answers is a worker lent, or to find out whether it does
	case l.standing == untried && l.flying > 0 && len(p.hosts) > 1:
		// What it has in flight may hang; a share is left for the others.
		return p.flying < max(1, p.workers-p.share) && p.may(l, now)
	default:
		return p.may(l, now)
	}
}

// overdue notes that a delivery that began then has become late.
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
		// It went out before the last success came back, and tells nothing new.
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

// place puts the host at the end of the line where it belongs, if it is not
// there already.
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

// holders is the hosts with something waiting, the one with most in front.
type holders []*host

// changed puts the host where its number of places belongs.
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
