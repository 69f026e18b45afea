package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Bounds of what the relay keeps in memory: entries in all, and of one batch,
// so that a batch with very many leaves room for the others.
const (
	boardSize = 2048
	lineSize  = 64
)

// board is the relay's memory: entries that are due, in a line per batch, so
// that the events of one batch go out one after the other. It holds numbers
// only; bodies are read when they are sent.
type board struct {
	mu      sync.Mutex
	work    *sync.Cond // for workers: a line is ready, or the breaker thinks otherwise
	calm    *sync.Cond // for drain: there is less to do
	lines   map[uuid.UUID]*line
	ready   []*line         // with something waiting and nothing in flight
	known   map[uint64]bool // on the board, in flight, or answered and not yet stored
	damaged map[uint64]bool // entries that can never be read
	flying  int             // deliveries in flight
	reached uint64          // newest sequence that the feeder has seen
	breaker breaker
	timer   *time.Timer // wakes for the breaker's next probe
	closed  bool
}

// line is the due entries of one batch.
type line struct {
	batch   uuid.UUID
	waiting []uint64
	last    uint64 // highest sequence that was put here
	more    bool   // entries after last are due that found no room
	busy    bool   // one is in flight
}

// flight is one entry on its way.
type flight struct {
	line  *line
	seq   uint64
	probe uint64 // the breaker's number for it, 0 when it is none
}

func newBoard() *board {
	b := &board{lines: map[uuid.UUID]*line{}, known: map[uint64]bool{}, damaged: map[uint64]bool{}}
	b.work, b.calm = sync.NewCond(&b.mu), sync.NewCond(&b.mu)
	return b
}

// offer puts a due entry on the board. It reports false when the board is
// full. An entry whose line is full is left out and the line marked, to be
// filled up from the batch's own index; one that is tried again goes to the
// line all the same, since it stands before what the mark speaks of.
func (b *board) offer(batch uuid.UUID, seq uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[seq] || b.damaged[seq] {
		return true
	}
	l := b.lines[batch]
	if l != nil && seq > l.last && (l.more || len(l.waiting) >= lineSize) {
		l.more = true
		return true
	}
	if len(b.known) >= boardSize {
		return false
	}
	b.put(batch, seq)
	return true
}

// put adds an entry to its line, before those of the batch that were emitted
// later. The caller holds b.mu.
func (b *board) put(batch uuid.UUID, seq uint64) {
	l := b.lines[batch]
	if l == nil {
		l = &line{batch: batch}
		b.lines[batch] = l
	}
	b.known[seq] = true
	l.last = max(l.last, seq)
	at, _ := slices.BinarySearch(l.waiting, seq)
	l.waiting = slices.Insert(l.waiting, at, seq)
	if len(l.waiting) == 1 && !l.busy {
		b.ready = append(b.ready, l)
		b.work.Signal()
	}
}

// fill puts a batch's next entries, in order, on its marked line. more tells
// that there are further ones.
func (b *board) fill(batch uuid.UUID, seqs []uint64, last uint64, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[batch]
	if l == nil || !l.more {
		return
	}
	for _, seq := range seqs {
		if !b.known[seq] && !b.damaged[seq] {
			b.put(batch, seq)
		}
	}
	l.last, l.more = max(l.last, last), more
	b.tidy(l)
}

// thin returns a marked line that runs low, with its last sequence.
func (b *board) thin() (batch uuid.UUID, last uint64, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lines {
		if l.more && len(l.waiting) <= lineSize/4 {
			return l.batch, l.last, true
		}
	}
	return batch, 0, false
}

// room reports how many entries fit.
func (b *board) room() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return boardSize - len(b.known)
}

// next blocks until an entry may be sent; ok is false when the board is
// closed.
func (b *board) next() (f flight, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && (len(b.ready) == 0 || !b.allowed()) {
		b.work.Wait()
	}
	if b.closed {
		return flight{}, false
	}
	l := b.ready[0]
	b.ready = b.ready[1:]
	f = flight{l, l.waiting[0], b.breaker.sent()}
	l.waiting = l.waiting[1:]
	l.busy = true
	b.flying++
	return f, true
}

// allowed asks the breaker, and arms the timer when it says later.
func (b *board) allowed() bool {
	ok, again := b.breaker.allows(time.Now())
	if ok || again.IsZero() {
		return ok
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.timer = time.AfterFunc(time.Until(again), b.wake)
	return false
}

func (b *board) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.work.Broadcast()
	b.calm.Broadcast()
}

// answered notes the receiver's answer and frees the line: the batch's next
// entry need not wait until the outcome is stored. It reports whether the
// breaker opened, or closed, by it.
func (b *board) answered(f flight, o Outcome) (opened, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.breaker.open
	b.breaker.result(o, f.probe, time.Now())
	b.land(f)
	opened, closed = !was && b.breaker.open, was && !b.breaker.open
	if closed {
		b.work.Broadcast()
	}
	if opened {
		b.calm.Broadcast()
	}
	return opened, closed
}

// skipped takes back an entry that was not attempted. A damaged one is not
// offered again.
func (b *board) skipped(f flight, damaged bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.breaker.withdrawn(f.probe)
	b.forget(f.seq)
	if damaged {
		b.damaged[f.seq] = true
	}
	b.land(f)
}

// land ends a flight. The caller holds b.mu.
func (b *board) land(f flight) {
	b.flying--
	l := f.line
	l.busy = false
	if len(l.waiting) > 0 {
		b.ready = append(b.ready, l)
	}
	b.tidy(l)
	// The worker that landed it comes back itself; one more is enough for what
	// its landing allows, a next entry of the line or a next probe.
	b.work.Signal()
}

// settled forgets an entry whose outcome is stored.
func (b *board) settled(seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(seq)
}

// forget takes an entry off the board. The caller holds b.mu.
func (b *board) forget(seq uint64) {
	delete(b.known, seq)
	if len(b.known) == 0 {
		b.calm.Broadcast()
	}
}

// tidy forgets a line with nothing on it. The caller holds b.mu.
func (b *board) tidy(l *line) {
	if len(l.waiting) == 0 && !l.busy && !l.more {
		delete(b.lines, l.batch)
	}
}

// reach notes that the feeder has seen all entries up to seq.
func (b *board) reach(seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reached = max(b.reached, seq)
	b.calm.Broadcast()
}

// drain waits until the entries up to newest were seen and nothing is left on
// the board, the breaker opens, or ctx ends.
func (b *board) drain(ctx context.Context, newest uint64) {
	stop := context.AfterFunc(ctx, b.wake)
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for (b.reached < newest || len(b.known) > 0) && !b.breaker.open && ctx.Err() == nil {
		b.calm.Wait()
	}
}

// hurry makes an open breaker probe at once.
func (b *board) hurry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.breaker.probeAt = time.Time{}
	b.work.Broadcast()
}

// urge puts an entry on the board whatever its size, its line before the
// others, and makes an open breaker probe at once. It reports false when the
// board is too full even for that.
func (b *board) urge(batch uuid.UUID, seq uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.breaker.probeAt = time.Time{}
	b.work.Broadcast()
	if !b.known[seq] && !b.damaged[seq] {
		if len(b.known) >= 2*boardSize {
			return false
		}
		b.putAside(batch, seq)
	}
	if i := slices.IndexFunc(b.ready, func(l *line) bool { return l.batch == batch }); i > 0 {
		l := b.ready[i]
		b.ready = slices.Insert(slices.Delete(b.ready, i, i+1), 0, l)
	}
	return true
}

// putAside puts an entry on its line without a claim that those before it are
// there: a marked line goes on to be filled up from where it was. The caller
// holds b.mu.
func (b *board) putAside(batch uuid.UUID, seq uint64) {
	l := b.lines[batch]
	if l == nil || !l.more {
		b.put(batch, seq)
		return
	}
	last := l.last
	b.put(batch, seq)
	l.last = last
}

func (b *board) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	b.work.Broadcast()
}
