package logbook

import (
	"sync"
	"sync/atomic"
	"time"

	"postern/delivery"
)

// behind holds the records of the in-memory flow that are not written yet. The code that
// delivers holds its lock for some nanoseconds and never waits for the file.
//
// A delivery is written after it ended, together with others that ended within company. A
// delivery that takes longer than patience is first written as pending, and again when it
// ends.
type behind struct {
	mu      sync.Mutex
	waiting []*Entry // in the order of their ids; entries that have ended are skipped
	ended   []*Entry // with an end that is not written
	bytes   int      // of the bodies in ended

	kick    chan struct{}     // size 1: there is something
	full    chan struct{}     // size 1: there is enough for a commit
	turn    chan struct{}     // size 1: held by who writes, who alone has
	rows    []delivery.Flowed // room for those of a commit
	dropped atomic.Uint64

	stored int // deliveries that the file has as pending
}

const (
	company  = 200 * time.Millisecond
	patience = 500 * time.Millisecond

	// behindStep is how many records a commit takes.
	behindStep = 512
	// maxBehind and maxBehindBytes bound what may wait to be written: some seconds of the fastest
	// deliveries. Deliveries beyond the bounds are not recorded.
	maxBehind      = 20_000
	maxBehindBytes = 64 << 20
)

func newBehind() behind {
	return behind{kick: make(chan struct{}, 1), full: make(chan struct{}, 1), turn: make(chan struct{}, 1), rows: make([]delivery.Flowed, behindStep)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// queued adds an entry and assigns its id, in the order of the calls. It returns false if
// there is no room.
func (b *behind) queued(e *Entry, nextID func() uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting)+len(b.ended) >= maxBehind || b.bytes >= maxBehindBytes {
		b.dropped.Add(1)
		return false
	}
	e.id = nextID()
	b.waiting = append(b.waiting, e)
	if len(b.waiting) == 1 {
		signal(b.kick)
	}
	return true
}

// done notes the end of an entry, once.
func (b *behind) done(e *Entry, state delivery.State, a delivery.Attempt, body bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.state != delivery.Pending {
		return
	}
	e.state, e.attempt = state, a
	if !body || b.bytes >= maxBehindBytes {
		e.notice.Body = nil
	}
	b.bytes += len(e.notice.Body)
	b.ended = append(b.ended, e)
	switch len(b.ended) {
	case 1:
		signal(b.kick)
	case behindStep:
		signal(b.full)
	}
}

// writing is the pending write of an entry.
type writing struct {
	*Entry
	body   []byte // nil: not to be kept
	ended  bool   // with the state and attempt of the entry; otherwise it is pending
	update bool   // the file has it as pending
}

// take returns what is to be written now: entries that ended, and those that waited longer
// than patience or, with young, all that wait.
func (b *behind) take(young bool) []writing {
	b.mu.Lock()
	defer b.mu.Unlock()
	since, n := time.Now().Add(-patience), 0
	all := make([]writing, 0, len(b.ended))
	for _, e := range b.waiting {
		if e.state == delivery.Pending {
			if !young && e.made.After(since) {
				break
			}
			all = append(all, writing{Entry: e, body: e.notice.Body})
			e.stored = true
		}
		n++
	}
	b.waiting = drop(b.waiting, n)
	for _, e := range b.ended {
		all = append(all, writing{Entry: e, body: e.notice.Body, ended: true, update: e.stored})
	}
	b.ended, b.bytes = nil, 0
	return all
}

// drop removes the first n of a queue.
func drop(queue []*Entry, n int) []*Entry {
	if n == len(queue) {
		return nil
	}
	clear(queue[:n])
	return queue[n:]
}

// settled reports whether the file has the end of every delivery that it records as pending
// in memory.
func (b *behind) settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stored == 0
}
