package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

// boardSize is how many outbox entries the relay keeps in memory as due.
const boardSize = 2048

// board is the relay's memory: entries that are due, in a line per batch, so
// that the events of one batch go out one after the other. It holds numbers
// only; bodies are read when they are sent.
type board struct {
	mu      sync.Mutex
	change  *sync.Cond
	lines   map[uuid.UUID]*line
	ready   []*line         // with something waiting and nothing in flight
	known   map[uint64]bool // sequences on the board or in flight
	flying  int             // deliveries in flight
	breaker breaker
	timer   *time.Timer // wakes for the breaker's next probe
	closed  bool
}

type line struct {
	batch   uuid.UUID
	waiting []uint64
	busy    bool // one is in flight, or its outcome is being written
}

func newBoard() *board {
	b := &board{lines: map[uuid.UUID]*line{}, known: map[uint64]bool{}}
	b.change = sync.NewCond(&b.mu)
	return b
}

// offer puts entries on the board, those of one batch in the order given, and
// leaves out what it knows. It reports whether all found room.
func (b *board) offer(rows []store.Due) (all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, row := range rows {
		if b.known[row.Seq] {
			continue
		}
		if len(b.known) >= boardSize {
			return false
		}
		b.known[row.Seq] = true
		l := b.lines[row.Batch]
		if l == nil {
			l = &line{batch: row.Batch}
			b.lines[row.Batch] = l
		}
		l.waiting = append(l.waiting, row.Seq)
		if len(l.waiting) == 1 && !l.busy {
			b.ready = append(b.ready, l)
			b.change.Signal()
		}
	}
	return true
}

// room reports how many entries fit.
func (b *board) room() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return boardSize - len(b.known)
}

// next blocks until an entry may be sent; ok is false when the board is
// closed.
func (b *board) next() (l *line, seq uint64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if b.closed {
			return nil, 0, false
		}
		if len(b.ready) > 0 && b.allowed() {
			break
		}
		b.change.Wait()
	}
	l = b.ready[0]
	b.ready = b.ready[1:]
	seq = l.waiting[0]
	l.waiting = l.waiting[1:]
	l.busy = true
	b.flying++
	b.breaker.sent()
	return l, seq, true
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
	b.timer = time.AfterFunc(time.Until(again), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.change.Broadcast()
	})
	return false
}

// answered notes the receiver's answer. The line stays busy until settled.
func (b *board) answered(o Outcome) (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.breaker.open()
	b.flying--
	b.breaker.result(o, time.Now())
	b.change.Broadcast()
	return !was && b.breaker.open()
}

// skipped takes back a delivery that was not attempted.
func (b *board) skipped() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flying--
	b.breaker.probing = false
	b.change.Broadcast()
}

// settled frees the line after the outcome was written.
func (b *board) settled(l *line, seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, seq)
	if len(b.known) == 0 {
		b.change.Broadcast() // drain waits for this
	}
	l.busy = false
	if len(l.waiting) == 0 {
		delete(b.lines, l.batch)
		return
	}
	b.ready = append(b.ready, l)
	b.change.Signal()
}

// drain waits until the board is empty, the breaker opens, or ctx ends.
func (b *board) drain(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.change.Broadcast()
	})
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.known) > 0 && !b.breaker.open() && ctx.Err() == nil {
		b.change.Wait()
	}
}

// hurry makes an open breaker probe at once.
func (b *board) hurry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.breaker.probeAt = time.Time{}
	b.change.Broadcast()
}

func (b *board) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	b.change.Broadcast()
}
