package dispatch

import (
	"math/rand/v2"
	"slices"
	"time"
)

// This file handles entries that leave the board: they are sent, answered, and their
// outcome is stored.

// next blocks until an entry may be sent; ok is false if the board is closed.
func (b *board) next() (f flight, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && !b.sendable() {
		b.work.Wait()
	}
	if b.closed {
		return flight{}, false
	}
	return b.launch(), true
}

// take is next without the wait; ok is false if nothing may be sent now.
func (b *board) take() (f flight, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || !b.sendable() {
		return flight{}, false
	}
	return b.launch(), true
}

// place returns the kind of place that the next entry needs; ok is false if nothing may
// be sent now.
func (b *board) place() (p place, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed || !b.sendable():
		return p, false
	case b.breaker.open && len(b.rush) == 0:
		return probePlace, true
	case b.proven:
		return provenPlace, true
	default:
		return trialPlace, true
	}
}

// sendable reports whether an entry may be sent now. The caller holds b.mu.
func (b *board) sendable() bool {
	if b.most > 0 && b.flying >= b.limit() {
		return false
	}
	return len(b.rush) > 0 || len(b.ready) > 0 && b.allowed()
}

// limit returns how many may be in flight. The caller holds b.mu.
func (b *board) limit() int {
	switch {
	case !b.proven:
		return trialFlights
	case b.pace < quick:
		return quickFlights
	default:
		return b.most
	}
}

// paced notes how long an accepted delivery took. The caller holds b.mu.
func (b *board) paced(took time.Duration) {
	share := time.Duration(8)
	if took < b.pace {
		share = 2
	}
	b.pace += (took - b.pace) / share
}

// launch takes the next entry off its line. There must be one. The caller holds b.mu.
func (b *board) launch() flight {
	from := &b.ready
	if len(b.rush) > 0 {
		from = &b.rush
	}
	l := (*from)[0]
	*from = (*from)[1:]
	now, at := time.Now(), 0
	if !l.once && b.breaker.detour(now) {
		at = rand.IntN(len(l.waiting))
	}
	seq := l.waiting[at]
	f := flight{line: l, seq: seq, anyway: b.known[seq], detour: at > 0, era: b.era}
	if !l.once {
		f.probe = b.breaker.sent(now)
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	l.busy = true
	b.flying++
	return f
}

// allowed asks the breaker, and arms the timer if the breaker says later.
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
	b.broadcast()
	b.calm.Broadcast()
}

// answered notes the receiver's answer. An accepted event frees the line: the batch's
// next entry need not wait until the outcome is stored. After a failure of the receiver
// it must wait, since the failed entry may return before it. answered reports whether the
// answer opened or closed the breaker.
func (b *board) answered(f flight, o Outcome) (opened, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was, wary := b.breaker.open, b.breaker.wary
	b.breaker.result(o, f, time.Now())
	b.flying--
	if !o.Down() {
		b.release(f.line)
	}
	b.proven = !o.Down()
	if o.Delivered() {
		b.slowest = max(b.slowest, o.Duration)
		b.paced(o.Duration)
	}
	opened, closed = !was && b.breaker.open, was && !b.breaker.open
	if closed {
		b.reopen(f.detour && wary)
		b.broadcast()
	}
	if opened {
		b.restart()
		b.calm.Broadcast()
	}
	b.work.Signal() // for the next probe
	return opened, closed
}

// broadcast wakes all senders. The caller holds b.mu.
func (b *board) broadcast() {
	b.work.Broadcast()
	if b.wanted != nil {
		b.wanted()
	}
}

// skipped returns an entry that was not attempted. A damaged one is not offered again.
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

// free ends the turn of a line and wakes the senders. The caller holds b.mu.
func (b *board) free(l *line) {
	b.release(l)
	if b.wanted != nil {
		b.wanted()
	}
}

// release ends the turn of a line. The caller holds b.mu.
func (b *board) release(l *line) {
	l.busy = false
	if len(l.waiting) > 0 {
		b.ready = append(b.ready, l)
	}
	b.tidy(l)
	// The worker that landed the entry continues by itself. One more is enough for what
	// the landing allows, a next entry of the line or a next probe.
	b.work.Signal()
}

// settled removes an entry whose outcome is stored. An entry that failed while the
// receiver was down stays on the board, whatever its backoff, if the breaker is open or a
// success was seen since it was sent. kept reports that, and urged that the entry was
// requested, maybe after its outcome was in the file.
func (b *board) settled(f flight, o Outcome) (kept, urged bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	urged = b.urged[f.seq]
	if !o.Down() {
		b.forget(f.seq)
		return false, urged
	}
	if kept = b.breaker.open || b.era != f.era; kept {
		b.put(f.line.batch, f.seq, true)
	} else {
		b.forget(f.seq)
	}
	b.free(f.line)
	return kept, urged
}

// over removes an entry whose delivery ended in the file. urged is as in settled.
func (b *board) over(f flight, o Outcome) (urged bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	urged = b.urged[f.seq]
	b.forget(f.seq)
	if o.Down() {
		b.free(f.line)
	}
	return urged
}

// forget takes an entry off the board. The caller holds b.mu.
func (b *board) forget(seq uint64) {
	delete(b.known, seq)
	delete(b.urged, seq)
	if len(b.known) == 0 {
		b.calm.Broadcast()
	}
}

// tidy removes a line without entries. The caller holds b.mu.
func (b *board) tidy(l *line) {
	if len(l.waiting) == 0 && !l.busy && !l.more {
		delete(b.lines, l.batch)
	}
}
