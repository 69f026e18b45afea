package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// This file handles the whole board: sweeps, hurry, and how full it is.

// reopen releases all waiting entries, or only those that are due, so that entries which
// no receiver accepts are not first again.
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

// restart empties the board, except for flights, and requests a sweep. The caller holds
// b.mu.
func (b *board) restart() {
	b.sweep, b.unsweep, b.ready = true, false, nil
	for batch, l := range b.lines {
		if l.once {
			continue
		}
		for _, seq := range l.waiting {
			delete(b.known, seq)
			delete(b.urged, seq)
		}
		l.waiting, l.more, l.last = nil, false, 0
		if !l.busy {
			delete(b.lines, batch)
		}
	}
}

// halt empties the board while the lane may send nothing. A sweep follows once it may
// send again.
func (b *board) halt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.rush {
		delete(b.known, l.waiting[0])
		delete(b.urged, l.waiting[0])
		delete(b.lines, l.batch)
	}
	b.rush = nil
	b.restart()
}

// empty reports whether no entry is on the board or in flight.
func (b *board) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.known) == 0
}

// down reports whether the breaker holds deliveries back.
func (b *board) down() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.breaker.open
}

// numbers returns how many entries are in flight and how many wait, and whether the
// breaker is open.
func (b *board) numbers() (flying, waiting int, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flying, len(b.known) - b.flying, b.breaker.open
}

// sweepWanted reports, once, that a sweep must begin.
func (b *board) sweepWanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	wanted := b.sweep
	b.sweep = false
	return wanted
}

// sweepOver reports, once, that a sweep must end early.
func (b *board) sweepOver() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	over := b.unsweep
	b.unsweep = false
	return over
}

// swept reports whether a complete sweep has ended: its entries can be
// sent, and no line waits for the rest of its batch.
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

// longest returns the longest time that the receiver took to accept a delivery.
func (b *board) longest() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slowest
}

// reach notes that the feeder has seen all entries up to seq.
func (b *board) reach(seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reached = max(b.reached, seq)
	b.calm.Broadcast()
}

// drain waits until the entries up to newest were seen and the board is empty, the
// breaker opens, or ctx ends.
func (b *board) drain(ctx context.Context, newest uint64) {
	stop := context.AfterFunc(ctx, b.wake)
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for (b.reached < newest || b.sweep || len(b.known) > 0) && !b.breaker.open && ctx.Err() == nil {
		b.calm.Wait()
	}
}

// hurry requests a sweep of all pending entries, and makes an open breaker probe at once.
func (b *board) hurry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.restart()
	b.breaker.probeAt = time.Time{}
	b.wanted()
}

// urge puts an entry on the board even if that is full, with its line before the others,
// and makes an open breaker probe at once. It returns false if the board is too full even
// for that.
func (b *board) urge(batch uuid.UUID, seq uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.breaker.probeAt = time.Time{}
	b.wanted()
	b.noteUrged(seq, true)
	if !b.has(seq) {
		if len(b.known) >= 2*b.size {
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

// putAside puts an entry on its line without implying that the entries before it are
// there: a marked line is still filled from its last position. The caller holds b.mu.
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
