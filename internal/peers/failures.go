package peers

import (
	"container/list"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// window is the time in which failures count.
const window = time.Minute

// maxFailing is how many addresses are remembered. When more fail within a
// minute, the one that failed longest ago is forgotten: each of so many has
// its own few tries anyway.
const maxFailing = 10_000

// Failures counts by address what one may do a few times a minute: wrong credentials,
// sign-ins. It is safe for concurrent use.
type Failures struct {
	perMinute int

	wrong, limited atomic.Uint64

	mu       sync.Mutex
	guessers map[netip.Prefix]*list.Element
	byAge    list.List // of *guesser, the one that failed longest ago first
}

// guesser is an address that gave wrong credentials.
type guesser struct {
	network netip.Prefix
	failed  []time.Time // within the window, oldest first, at most perMinute
}

// NewFailures returns a count that takes perMinute failures of one address in
// any minute; 0 takes all.
func NewFailures(perMinute int) *Failures {
	return &Failures{perMinute: perMinute, guessers: map[netip.Prefix]*list.Element{}}
}

// Count notes a wrong credential. wait is 0 while the address has failures
// left; afterwards it says when it has one again, and what comes until then
// does not count. last tells that this one used them up.
func (f *Failures) Count(from netip.Addr) (wait time.Duration, last bool) {
	wait, last = f.count(network(from), time.Now())
	if wait > 0 {
		f.limited.Add(1)
	} else {
		f.wrong.Add(1)
	}
	return wait, last
}

func (f *Failures) count(from netip.Prefix, now time.Time) (wait time.Duration, last bool) {
	if f.perMinute <= 0 {
		return 0, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.guesser(from, now)
	for len(g.failed) > 0 && now.Sub(g.failed[0]) >= window {
		g.failed = g.failed[1:]
	}
	if len(g.failed) >= f.perMinute {
		return window - now.Sub(g.failed[0]), false
	}
	g.failed = append(g.failed, now)
	f.byAge.MoveToBack(f.guessers[from])
	return 0, len(g.failed) == f.perMinute
}

// guesser finds an address, or makes room for it.
func (f *Failures) guesser(from netip.Prefix, now time.Time) *guesser {
	if e, known := f.guessers[from]; known {
		return e.Value.(*guesser)
	}
	for e := f.byAge.Front(); e != nil; e = f.byAge.Front() {
		oldest := e.Value.(*guesser)
		if f.byAge.Len() < maxFailing && now.Sub(oldest.failed[len(oldest.failed)-1]) < window {
			break
		}
		delete(f.guessers, oldest.network)
		f.byAge.Remove(e)
	}
	g := &guesser{network: from}
	f.guessers[from] = f.byAge.PushBack(g)
	return g
}

// Stats returns how many wrong credentials were answered as such, and how many came
// over the limit.
func (f *Failures) Stats() (wrong, limited uint64) { return f.wrong.Load(), f.limited.Load() }
