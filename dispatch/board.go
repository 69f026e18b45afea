package dispatch

import (
	"context"
	"math/rand/v2"
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
//
// When the breaker opens, the board is emptied and filled again with what is
// pending, the oldest first and whether due or not: the probes are then the
// first of their batches, and so is what a success lets out.
type board struct {
	mu      sync.Mutex
	work    *sync.Cond // for workers: a line is ready, or the breaker thinks otherwise
	calm    *sync.Cond // for drain: there is less to do
	lines   map[uuid.UUID]*line
	ready   []*line         // with something waiting and nothing in flight
	known   map[uint64]bool // on the board, in flight, or answered and not yet stored; true: whether due or not
	damaged map[uint64]bool // entries that can never be read
	flying  int             // deliveries in flight
	reached uint64          // newest sequence that the feeder has seen
	slowest time.Duration   // that an accepted delivery took
	breaker breaker
	era     uint64      // how often the breaker has closed
	sweep   bool        // the feeder has to begin a sweep
	unsweep bool        // the feeder has to end it: due times count again
	timer   *time.Timer // wakes for the breaker's next probe
	closed  bool
}

// line is the due entries of one batch.
type line struct {
	batch   uuid.UUID
	waiting []uint64
	last    uint64 // highest sequence that was put here
	more    bool   // entries after last are due that found no room
	busy    bool   // one is in flight, or failed and is not stored yet
}

// flight is one entry on its way.
type flight struct {
	line   *line
	seq    uint64
	probe  uint64 // the breaker's number for it, 0 when it is none
	anyway bool   // whether due or not
	detour bool   // a probe that is not the first of its batch
	era    uint64 // of the board when it went out
}

func newBoard() *board {
	b := &board{lines: map[uuid.UUID]*line{}, known: map[uint64]bool{}, damaged: map[uint64]bool{}}
	b.work, b.calm = sync.NewCond(&b.mu), sync.NewCond(&b.mu)
	return b
}

// offer puts a due entry on the board. It reports false when the board is
// full. An entry whose line is full is left out and the line marked, to be
// filled up from the batch's own index; one that is tried again goes to the
// line all the same, since it stands before what the mark speaks of. anyway is
// for one that is to be sent whether due or not.
func (b *board) offer(batch uuid.UUID, seq uint64, anyway bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sweep || b.has(seq) {
		return true // a sweep will come to it
	}
	l := b.lines[batch]
	if l != nil && seq > l.last && (l.more || len(l.waiting) >= lineSize) {
		l.more = true
		return true
	}
	if len(b.known) >= boardSize {
		return false
	}
	b.put(batch, seq, anyway)
	return true
}

// has reports whether an entry is on the board already, or can never be sent.
// The caller holds b.mu.
func (b *board) has(seq uint64) bool {
	_, known := b.known[seq]
	return known || b.damaged[seq]
}

// put adds an entry to its line, before those of the batch that were emitted
// later. The caller holds b.mu.
func (b *board) put(batch uuid.UUID, seq uint64, anyway bool) {
	l := b.lines[batch]
	if l == nil {
		l = &line{batch: batch}
		b.lines[batch] = l
	}
	b.known[seq] = anyway
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
func (b *board) fill(batch uuid.UUID, seqs []uint64, last uint64, more, anyway bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[batch]
	if l == nil || !l.more {
		return
	}
	for _, seq := range seqs {
		if !b.has(seq) {
			b.put(batch, seq, anyway)
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
	now, at := time.Now(), 0
	if b.breaker.detour(now) {
		at = rand.IntN(len(l.waiting))
	}
	seq := l.waiting[at]
	f = flight{line: l, seq: seq, probe: b.breaker.sent(now), anyway: b.known[seq], detour: at > 0, era: b.era}
	l.waiting = slices.Delete(l.waiting, at, at+1)
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

// answered notes the receiver's answer. One that takes the event frees the
// line: the batch's next entry need not wait until the outcome is stored. After
// a failure of the receiver it does, since the entry may come back before it.
// It reports whether the breaker opened, or closed, by the answer.
func (b *board) answered(f flight, o Outcome) (opened, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was, wary := b.breaker.open, b.breaker.wary
	b.breaker.result(o, f, time.Now())
	b.flying--
	if !o.Down() {
		b.free(f.line)
	}
	if o.Delivered() {
		b.slowest = max(b.slowest, o.Duration)
	}
	opened, closed = !was && b.breaker.open, was && !b.breaker.open
	if closed {
		b.reopen(f.detour && wary)
		b.work.Broadcast()
	}
	if opened {
		b.restart()
		b.calm.Broadcast()
	}
	b.work.Signal() // a next probe
	return opened, closed
}

// reopen lets out what waits, or only what is due, so that entries which no
// receiver takes do not go first again.
func (b *board) reopen(onlyDue bool) {
	if !onlyDue {
		b.era++
		return
	}
	b.unsweep = true
	for seq := range b.known {
		b.known[seq] = false
	}
}

// restart empties the board, but for what is on its way, and asks for a sweep.
// The caller holds b.mu.
func (b *board) restart() {
	b.sweep, b.unsweep, b.ready = true, false, nil
	for batch, l := range b.lines {
		for _, seq := range l.waiting {
			delete(b.known, seq)
		}
		l.waiting, l.more, l.last = nil, false, 0
		if !l.busy {
			delete(b.lines, batch)
		}
	}
}

// sweepWanted reports, once, that a sweep is to begin.
func (b *board) sweepWanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	wanted := b.sweep
	b.sweep = false
	return wanted
}

// sweepOver reports, once, that a sweep is to end before its time.
func (b *board) sweepOver() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	over := b.unsweep
	b.unsweep = false
	return over
}

// swept reports whether a sweep that has read everything is over: what it read
// can go out, and no line waits for the rest of its batch.
func (b *board) swept() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lines {
		if l.more {
			return false
		}
	}
	return !b.breaker.open && !b.sweep
}

// longest is how long the receiver took at most to accept a delivery.
func (b *board) longest() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slowest
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
	b.flying--
	b.free(f.line)
}

// free ends the turn of a line. The caller holds b.mu.
func (b *board) free(l *line) {
	l.busy = false
	if len(l.waiting) > 0 {
		b.ready = append(b.ready, l)
	}
	b.tidy(l)
	// The worker that landed it comes back itself; one more is enough for what
	// its landing allows, a next entry of the line or a next probe.
	b.work.Signal()
}

// settled forgets an entry whose outcome is stored. One that failed while the
// receiver was down stays on the board, whatever its backoff: as long as the
// breaker is open, or when a success was seen since it went out. kept tells so.
func (b *board) settled(f flight, o Outcome) (kept bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !o.Down() {
		b.forget(f.seq)
		return false
	}
	if kept = b.breaker.open || b.era != f.era; kept {
		b.put(f.line.batch, f.seq, true)
	} else {
		b.forget(f.seq)
	}
	b.free(f.line)
	return kept
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
	for (b.reached < newest || b.sweep || len(b.known) > 0) && !b.breaker.open && ctx.Err() == nil {
		b.calm.Wait()
	}
}

// hurry sweeps everything that is pending, and makes an open breaker probe at
// once.
func (b *board) hurry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.restart()
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
	if !b.has(seq) {
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
		b.put(batch, seq, true)
		return
	}
	last := l.last
	b.put(batch, seq, true)
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
