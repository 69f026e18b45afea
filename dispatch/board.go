package dispatch

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Bounds of what the lane of the outbox keeps in memory: entries in all, and of
// one batch, so that a batch with very many leaves room for the others.
const (
	boardSize = 2048
	lineSize  = 64
)

// board is the memory of a lane: entries that are due, in a line per batch, so
// that the events of one batch go out one after the other. It holds numbers
// only; bodies are read when they are sent. In lanes of package delivery each
// entry is a line of its own, since an order is kept by what is due at all.
//
// When the breaker opens, the board is emptied and filled again with what is
// pending, the oldest first and whether due or not: the probes are then the
// first of their batches, and so is what a success lets out.
type board struct {
	size int // entries at most
	most int // in flight at most; 0: as many as there are senders
	// wanted is called when something may go out, but for what the feeder itself
	// put here and what a sender's landing allows: they look themselves. nil:
	// senders wait at work.
	wanted func()

	mu      sync.Mutex
	work    *sync.Cond // for workers: a line is ready, or the breaker thinks otherwise
	calm    *sync.Cond // for drain: there is less to do
	lines   map[uuid.UUID]*line
	ready   []*line         // with something waiting and nothing in flight
	rush    []*line         // the same, of what does not wait for the breaker
	known   map[uint64]bool // on the board, in flight, or answered and not yet stored; true: whether due or not
	urged   map[uint64]bool // of the known ones, those that were asked for when they were here
	damaged map[uint64]bool // entries that can never be read
	flying  int             // deliveries in flight
	reached uint64          // newest sequence that the feeder has seen
	slowest time.Duration   // that an accepted delivery took
	proven  bool            // the receiver accepted, and did not fail since
	pace    time.Duration   // that it takes to accept, the shorter times counting for more
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
	once    bool   // it has one attempt and does not wait for the breaker
}

// flight is one entry on its way.
type flight struct {
	line   *line
	seq    uint64
	probe  uint64 // the breaker's number for it, 0 when it is none
	anyway bool   // whether due or not
	detour bool   // a probe that is not the first of its batch
	era    uint64 // of the board when it went out
	seat   seat   // that it has in the budget
	ahead  int    // how many of its line went out before it whose outcome the file may not have
}

func newBoard() *board {
	b := &board{size: boardSize, lines: map[uuid.UUID]*line{}, known: map[uint64]bool{}, urged: map[uint64]bool{}, damaged: map[uint64]bool{}}
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
	if len(b.known) >= b.size {
		return false
	}
	b.put(batch, seq, anyway)
	return true
}

// offerOnce is offer for an entry that has a line of its own and does not wait
// for the breaker. urged is for one that is asked for now.
func (b *board) offerOnce(batch uuid.UUID, seq uint64, urged bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.has(seq) {
		b.noteUrged(seq, urged)
		return true
	}
	if len(b.known) >= b.size {
		return false
	}
	l := &line{batch: batch, last: seq, waiting: []uint64{seq}, once: true}
	b.lines[batch], b.known[seq] = l, true
	b.rush = append(b.rush, l)
	return true
}

// noteUrged remembers until its outcome is stored that an entry which is here was
// asked for. The caller holds b.mu.
func (b *board) noteUrged(seq uint64, urged bool) {
	if _, here := b.known[seq]; here && urged {
		b.urged[seq] = true
	}
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
	return b.size - len(b.known)
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
