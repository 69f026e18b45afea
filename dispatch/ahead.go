package dispatch

import (
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/store"
)

// An event of a line need not wait until the outcome of the previous one is in the file:
// it is enough that the receiver accepted that one. Otherwise a line would take a commit
// for each event, and one that falls behind would stay behind. If a crash loses outcomes,
// their events are delivered again, from the first of them on and in the same order.

// maxAhead bounds the events that leave in a row this way, and therefore how many of one
// line a crash can repeat, and how long a line keeps its slot.
const maxAhead = 64

// ahead takes the delivery that waits behind an accepted one, to be sent in the same slot.
// It finds nothing if another lane waits for that slot.
func (l *lane) ahead(s *laneSlot, p parcel) (next flight, found bool) {
	f := s.what.flight
	if f.ahead+1 >= maxAhead || l.outbox() || !p.inLine || l.pool.othersWait(s) {
		return next, false
	}
	behind, found, err := l.file.behind(p)
	if err != nil || !found || !isDue(behind.At, time.Now()) {
		return next, false // it comes when the outcome is in the file
	}
	if next, found = l.board.ahead(behind.Line, behind.Seq); !found {
		return next, false
	}
	next.ahead = f.ahead + 1
	return next, true
}

// ahead is launch for the next delivery of a line, in the slot of the one just accepted.
// It takes nothing if the receiver has failed since, or if other entries wait on the
// board.
func (b *board) ahead(is uuid.UUID, seq uint64) (f flight, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.sweep || b.breaker.open || !b.proven || b.has(seq) || len(b.known) >= b.size || b.flying >= b.limit() || len(b.ready) > 0 || len(b.rush) > 0 {
		return f, false
	}
	l := &line{batch: is, last: seq, busy: true}
	b.lines[l.batch], b.known[seq] = l, false
	b.flying++
	return flight{line: l, seq: seq, era: b.era, probe: b.breaker.sent(time.Now())}, true
}

// behind finds the delivery that waits behind another in its line.
func (r records) behind(p parcel) (next row, found bool, err error) {
	err = r.store.View(func(tx *store.Tx) (err error) {
		var d delivery.Due
		d, found, err = delivery.NextInLine(tx, p.record)
		next = recordRow(d)
		return err
	})
	return next, found, err
}

// behind finds nothing: the board keeps the lines of the outbox.
func (entries) behind(parcel) (next row, found bool, err error) { return next, false, nil }
