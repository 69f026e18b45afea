package dispatch

import (
	"container/heap"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

// Steps of reading the outbox: rows or entries in one read transaction.
const (
	tailStep = 256
	passStep = 512
)

// laterSize bounds how many entries in backoff are kept in memory. The others
// are found by another pass.
const laterSize = 4096

// tail follows the outbox by sequence: every new entry is published, and
// handed to the feeder when it is to be delivered.
func (r *Relay) tail(after uint64) {
	for {
		wake := r.cfg.Store.Wake()
		stopping := r.reading.Err() != nil
		entries, forgotten, err := r.newEntries(after)
		if err != nil {
			r.log.Error("outbox cannot be read", "error", err)
			entries = nil
		}
		for _, e := range entries {
			after = e.Seq
			if r.cfg.Publisher != nil {
				r.cfg.Publisher.PublishBatch(e.Kind, e.Owner, e.OwnerSeq, e.Body)
			}
		}
		r.handOver(entries)
		if forgotten {
			r.askForSweep(after)
		}
		switch {
		case len(entries) == tailStep:
			continue
		case stopping:
			return
		}
		select {
		case <-wake:
		case <-r.reading.Done(): // one last look
		}
	}
}

// handOver gives new entries to the feeder, unless the relay stops.
func (r *Relay) handOver(entries []store.OutboxEntry) {
	if r.cfg.URL == "" || len(entries) == 0 {
		return
	}
	rows := make([]store.Due, 0, len(entries))
	for _, e := range entries {
		if e.State == store.OutboxPending {
			rows = append(rows, store.Due{At: e.NextAttemptAt, Seq: e.Seq, Batch: e.Batch})
		}
	}
	select {
	case r.fresh <- rows:
	case <-r.reading.Done():
	}
}

// newEntries returns the next entries, and whether those of some batch are to be
// removed.
func (r *Relay) newEntries(after uint64) (entries []store.OutboxEntry, forgotten bool, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		if entries, err = tx.OutboxAfter(after, tailStep); err != nil {
			return err
		}
		batches, err := tx.OutboxForgotten(uuid.Nil, 1)
		forgotten = len(batches) > 0
		return err
	})
	return entries, forgotten, err
}

// askForSweep has the entries of removed batches removed that were made up to a
// sequence. An older wish that waits yet is replaced.
func (r *Relay) askForSweep(upTo uint64) {
	select {
	case <-r.forgotten:
	default:
	}
	r.forgotten <- upTo // tail alone fills it
}

// feeder fills the board: with new entries as tail hands them over, and with
// what tail does not see, entries of earlier lives, entries whose backoff is
// over, and those that found no room. For these it reads the due index from
// front to end, a pass: once at the start, and again only when something was
// left out. During a pass new entries are not taken from tail, since the pass
// comes to them after the older ones of their batch. What is due later is kept
// in a heap, as long as there is room; every row of the heap is in the index
// too, or stale.
//
// A sweep is a pass over what is pending in the order of sequences, whether due
// or not. It takes the place of everything else until the breaker is closed and
// all of it has gone out once.
type feeder struct {
	r        *Relay
	cursor   store.Due // how far the pass has come; a sweep only knows sequences
	active   bool      // a pass is under way, perhaps waiting for room
	again    bool      // another pass is needed: something was left out
	sweeping bool
	later    laterHeap
	seen     time.Time // the clock's newest reading
}

// idle is how long the feeder sleeps at most, so that its turns can be watched
// and a changed clock is noticed.
const idle = 10 * time.Second

func (r *Relay) feed() {
	f := &feeder{r: r, active: true}
	for {
		r.ticks.Store(time.Now().UnixNano())
		pause := f.turn()
		timer := time.NewTimer(pause)
		select {
		case <-r.nudges:
		case row := <-r.retries:
			f.keep(row)
		case rows := <-r.fresh:
			f.take(rows)
		case <-timer.C:
		case <-r.reading.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// turn does what can be done now and returns when to look again.
func (f *feeder) turn() time.Duration {
	f.heed()
	if f.r.passWanted.Swap(false) {
		f.again = true
	}
	if f.clockWentBack(time.Now()) {
		f.begin()
	}
	for f.fillThin() {
	}
	f.offerLater(time.Now())
	for f.active && f.step() {
	}
	if f.sweeping && !f.active && f.r.board.swept() {
		f.sweeping = false
	}
	if !f.active && !f.sweeping && f.again && len(f.later) < laterSize/2 && f.r.board.room() >= boardSize/2 {
		f.begin()
		return 0
	}
	if len(f.later) == 0 || isDue(f.later[0].At, time.Now()) { // that one waits for room
		return idle
	}
	return min(idle, time.Until(f.later[0].At))
}

// clockWentBack reports whether the clock of the computer was set back by more
// than a second since it was last asked. Then a time in the heap may be further
// away than any pause, and would wait behind those that are not; a pass takes
// such entries as due.
func (f *feeder) clockWentBack(now time.Time) bool {
	now = now.Round(0) // the monotonic reading does not follow the clock
	back := now.Before(f.seen.Add(-time.Second))
	f.seen = now
	return back
}

// begin starts a pass. It comes to everything that the heap holds. A sweep need
// not be left for it: that comes to everything, whatever the clock says.
func (f *feeder) begin() {
	if f.sweeping {
		f.again = true
		return
	}
	f.active, f.again, f.cursor, f.later = true, false, store.Due{}, nil
}

// heed starts a sweep when the board asks for one.
func (f *feeder) heed() {
	if f.r.board.sweepOver() {
		f.sweeping = false
		f.begin()
	}
	if f.r.board.sweepWanted() {
		f.sweeping, f.active, f.again, f.cursor, f.later = true, true, false, store.Due{}, nil
	}
}

// take puts new entries on the board. When one finds no room, a pass brings it
// and those after it.
func (f *feeder) take(rows []store.Due) {
	f.heed()
	for _, row := range rows {
		f.r.board.reach(row.Seq)
		switch {
		case f.active && !f.sweeping && row.At.Before(f.cursor.At):
			f.again = true // the clock went back; the pass is past it
		case f.active:
		case f.r.board.offer(row.Batch, row.Seq, false):
		case f.sweeping:
			f.active, f.cursor = true, store.Due{Seq: row.Seq - 1} // it goes on from here
		default:
			f.begin()
		}
	}
}

// step reads one page of the pass. It reports false when the pass ended or has
// to wait for room.
func (f *feeder) step() bool {
	if f.r.board.room() < boardSize/4 {
		return false // settled entries nudge
	}
	if f.sweeping {
		return f.sweep()
	}
	rows, err := f.r.dueRows(f.cursor, passStep)
	if err != nil {
		f.r.log.Error("outbox cannot be read", "error", err)
		return false
	}
	now := time.Now()
	for _, row := range rows {
		switch {
		case !isDue(row.At, now):
			if !f.keep(row) { // nor will there be room for those that come after it
				f.cursor = store.Due{At: now.Add(longestPause)}
				return true
			}
		case !f.r.board.offer(row.Batch, row.Seq, false):
			return false
		}
		f.cursor = row
	}
	f.active = len(rows) == passStep
	return f.active
}

// sweep reads one page of a sweep, as step does.
func (f *feeder) sweep() bool {
	entries, err := f.r.pendingAfter(f.cursor.Seq, passStep)
	if err != nil {
		f.r.log.Error("outbox cannot be read", "error", err)
		return false
	}
	for _, e := range entries {
		if !f.r.board.offer(e.Batch, e.Seq, true) {
			return false
		}
		f.cursor.Seq = e.Seq
	}
	f.active = len(entries) == passStep
	return f.active
}

// isDue reports whether a due time has come. One further away than any pause
// was set under a clock that was ahead, and counts as due.
func isDue(at, now time.Time) bool {
	ahead := at.Sub(now)
	return ahead <= 0 || ahead > longestPause
}

// keep remembers an entry for when its time has come. Without room for it,
// another pass will find it.
func (f *feeder) keep(row store.Due) bool {
	if len(f.later) >= laterSize {
		f.again = true
		return false
	}
	heap.Push(&f.later, row)
	return true
}

// offerLater puts on the board what is due by now.
func (f *feeder) offerLater(now time.Time) {
	for len(f.later) > 0 {
		row := f.later[0]
		if !isDue(row.At, now) || !f.r.board.offer(row.Batch, row.Seq, false) {
			return
		}
		heap.Pop(&f.later)
	}
}

// fillThin fills up one line that runs low from its batch's own index.
func (f *feeder) fillThin() bool {
	batch, last, found := f.r.board.thin()
	if !found {
		return false
	}
	seqs, newest, more, err := f.r.pendingOf(batch, last, f.sweeping)
	if err != nil {
		f.r.log.Error("outbox cannot be read", "batch", batch, "error", err)
		return false
	}
	f.r.board.fill(batch, seqs, newest, more, f.sweeping)
	return true
}

// pendingOf returns the batch's entries after a sequence that are due, or all;
// those in backoff come by the heap or a pass.
func (r *Relay) pendingOf(batch uuid.UUID, after uint64, all bool) (seqs []uint64, last uint64, more bool, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		entries, err := tx.OutboxList(store.OutboxQuery{Batch: batch, From: after, Limit: lineSize})
		for _, e := range entries {
			last = e.Seq
			if e.State == store.OutboxPending && (all || isDue(e.NextAttemptAt, time.Now())) {
				seqs = append(seqs, e.Seq)
			}
		}
		more = len(entries) == lineSize
		return err
	})
	return seqs, last, more, err
}

func (r *Relay) dueRows(after store.Due, limit int) (rows []store.Due, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		rows, err = tx.OutboxDue(after, limit)
		return err
	})
	return rows, err
}

// pendingAfter returns what is pending, in the order of sequences.
func (r *Relay) pendingAfter(after uint64, limit int) (entries []store.OutboxEntry, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		entries, err = tx.OutboxList(store.OutboxQuery{State: store.OutboxPending, From: after, Limit: limit})
		return err
	})
	return entries, err
}

// askForPass has the feeder read the due index again.
func (r *Relay) askForPass() {
	r.passWanted.Store(true)
	r.nudge()
}

func (r *Relay) nudge() {
	select {
	case r.nudges <- struct{}{}:
	default:
	}
}

// laterHeap is entries by due time.
type laterHeap []store.Due

func (h laterHeap) Len() int           { return len(h) }
func (h laterHeap) Less(i, j int) bool { return h[i].At.Before(h[j].At) }
func (h laterHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *laterHeap) Push(x any) { *h = append(*h, x.(store.Due)) }

// Pop implements [heap.Interface].
func (h *laterHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
