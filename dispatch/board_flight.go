package dispatch

import (
	"math/rand/v2"
	"slices"
	"time"
)

// This file handles entries that leave the board: they are sent, answered, and their
// outcome is stored.

// take returns the next entry; ok is false if nothing may be sent now.
func (b *board) take() (f flight, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || !b.sendable() {
		return flight{}, false
	}
	return b.launch(), true
}

// sends reports whether an entry may be sent now.
func (b *board) sends() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed && b.sendable()
}

// sendable reports whether an entry may be sent now. The caller holds b.mu.
func (b *board) sendable() bool {
	return b.flying < b.limit() && (len(b.rush) > 0 || len(b.ready) > 0 && b.allowed())
}

// limit returns how many may be in flight. The caller holds b.mu.
func (b *board) limit() int {
	if !b.proven || b.pace < quick {
		return b.few
	}
	return b.most
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
	b.wanted()
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
		b.wanted()
	}
	if opened {
		b.restart()
		b.calm.Broadcast()
	}
	return opened, closed
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

// free ends the turn of a line, of which no sender takes the next entry by itself. The
// caller holds b.mu.
func (b *board) free(l *line) {
	b.release(l)
	b.wanted()
}

// release ends the turn of a line. The caller holds b.mu.
func (b *board) release(l *line) {
	l.busy = false
	if len(l.waiting) > 0 {
		b.ready = append(b.ready, l)
	}
	b.tidy(l)
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
