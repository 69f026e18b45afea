package dispatch

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Bounds of the entries that the lane of the outbox keeps in memory: in total, and of one
// batch, so that a very large batch leaves room for others.
const (
	boardSize = 2048
	lineSize  = 64
)

// board is the memory of a lane: the entries that are due, in one line per batch, so that
// the events of a batch are sent one after the other. It holds numbers only; bodies are
// read when they are sent. In lanes of package delivery each entry is a line of its own,
// since only the first record of an ordered line is due.
//
// When the breaker opens, the board is emptied and filled again with the pending entries,
// oldest first and whether due or not. The probes, and the entries that a success
// releases, are then the first of their batches.
type board struct {
	size int // maximum number of entries
	most int // maximum in flight
	few  int // the same while the receiver is not proven, or quick
	// wanted is called when an entry may be sent. It is not called for entries that the
	// feeder itself put here or for what the landing of a sender allows: both check by
	// themselves.
	wanted func()

	mu      sync.Mutex
	calm    *sync.Cond // for drain: fewer entries are left
	lines   map[uuid.UUID]*line
	ready   []*line         // lines with a waiting entry and none in flight
	rush    []*line         // the same, for lines that do not wait for the breaker
	known   map[uint64]bool // on the board, in flight, or answered and not yet stored; true: whether due or not
	urged   map[uint64]bool // those of known that were requested while they were here
	damaged map[uint64]bool // entries that can never be read
	flying  int             // deliveries in flight
	reached uint64          // newest sequence that the feeder has seen
	slowest time.Duration   // the longest time in which a delivery was accepted
	proven  bool            // the receiver accepted, and has not failed since
	pace    time.Duration   // a weighted time to accept, in which shorter times count for more
	breaker breaker
	era     uint64      // how often the breaker has closed
	sweep   bool        // the feeder must begin a sweep
	unsweep bool        // the feeder must end it: due times count again
	timer   *time.Timer // wakes for the breaker's next probe
	closed  bool
}

// line holds the due entries of one batch.
type line struct {
	batch   uuid.UUID
	waiting []uint64
	last    uint64 // highest sequence that was put here
	more    bool   // due entries after last found no room
	busy    bool   // one is in flight, or failed and is not stored yet
	once    bool   // it has one attempt and does not wait for the breaker
}

// flight is one entry between the start of its POST and its outcome.
type flight struct {
	line   *line
	seq    uint64
	probe  uint64 // the breaker's number for it, 0 if it is no probe
	anyway bool   // whether due or not
	detour bool   // a probe that is not the first of its batch
	era    uint64 // of the board when it was sent
	ahead  int    // how many of its line were sent before it whose outcomes may not be in the file
}

func newBoard(size, most, few int, wanted func()) *board {
	b := &board{size: size, most: most, few: few, wanted: wanted, lines: map[uuid.UUID]*line{}, known: map[uint64]bool{}, urged: map[uint64]bool{}, damaged: map[uint64]bool{}}
	b.calm = sync.NewCond(&b.mu)
	return b
}

// offer puts a due entry on the board. It returns false if the board is full. If the line
// of an entry is full, offer leaves the entry out and marks the line, which is later
// filled from the batch's own index. An entry that is tried again goes to a marked line
// all the same, since it precedes the entries that the mark stands for. anyway is set for
// an entry that is sent whether due or not.
func (b *board) offer(batch uuid.UUID, seq uint64, anyway bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sweep || b.has(seq) {
		return true // a sweep will reach it
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

// offerOnce is offer for an entry that has a line of its own and does not wait for the
// breaker. urged is set for an entry that is requested now.
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

// noteUrged remembers, until its outcome is stored, that an entry on the board was
// requested. The caller holds b.mu.
func (b *board) noteUrged(seq uint64, urged bool) {
	if _, here := b.known[seq]; here && urged {
		b.urged[seq] = true
	}
}

// has reports whether an entry is already on the board, or can never be sent. The caller
// holds b.mu.
func (b *board) has(seq uint64) bool {
	_, known := b.known[seq]
	return known || b.damaged[seq]
}

// put adds an entry to its line, before the later entries of the batch. The caller holds
// b.mu.
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
	}
}

// fill puts a batch's next entries, in order, on its marked line. more says that there
// are further ones.
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

// thin returns a marked line with few entries left, and its last sequence.
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

// room returns the number of entries that fit.
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
}
