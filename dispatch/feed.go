package dispatch

import (
	"container/heap"
	"maps"
	"slices"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// passStep is how many rows of an index are read at once.
const passStep = 512

// laterSize bounds how many entries of the outbox in backoff are kept in memory.
// The others are found by another pass.
const laterSize = 4096

// feeder fills the board of a lane: with new entries as the tail hands them over,
// and with what that does not see, entries of earlier lives, entries whose
// backoff is over, and those that found no room. For these it reads the due index from
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
	l        *lane
	cursor   row  // how far the pass has come; a sweep only knows sequences
	active   bool // a pass is under way, perhaps waiting for room
	again    bool // another pass is needed: something was left out
	sweeping bool
	later    laterHeap
	seen     time.Time         // the clock's newest reading
	pause    time.Duration     // until the next turn
	quiet    time.Time         // since when there has been nothing to do
	to       event.Destination // where the lane led last
}

// idle is how long the feeder sleeps at most, so that its turns can be watched
// and a changed clock is noticed.
const idle = 10 * time.Second

// nap is how long a lane of package delivery stays awake with nothing to do.
const nap = time.Minute

// feed runs the feeder, and with it the lane: that of the outbox until the relay
// stops, another one until it has had nothing to do for a while, or may not do
// it.
func (l *lane) feed() {
	f := &feeder{l: l, active: true}
	for handed, on := int64(1), true; on; handed, on = f.wait() {
		l.tick()
		asleep := f.serve()
		l.tasks.Add(-handed)
		if asleep {
			break
		}
	}
	l.r.budget.forget(l)
}

// serve does what can be done now. It reports whether the lane has gone to sleep.
func (f *feeder) serve() (asleep bool) {
	l, ready := f.l, f.leads()
	switch {
	case !ready:
		l.board.halt()
		f.active, f.sweeping, f.again, f.later, f.cursor, f.pause = true, false, false, nil, row{}, idle
		return !l.outbox() && l.r.retire(l)
	case l.outbox():
		f.pause = f.turn()
		return false
	}
	f.pause = f.turn()
	l.launch()
	l.r.budget.pass(l)
	return f.drowsy(time.Now()) && l.r.retire(l)
}

// wait returns when there is something to do, with what was handed over
// meanwhile; on is false when the relay stops.
func (f *feeder) wait() (handed int64, on bool) {
	l, timer := f.l, time.NewTimer(f.pause)
	defer timer.Stop()
	defer l.r.wakes.feeders.Add(1)
	select {
	case <-l.nudges:
	case back := <-l.retries:
		f.keep(back)
	case rows := <-l.fresh:
		f.take(rows)
		return 1, true
	case <-timer.C:
	case <-l.r.reading.Done():
		return 0, false
	}
	return 0, true
}

// drowsy reports whether there has been nothing to do for so long that the lane
// may sleep.
func (f *feeder) drowsy(now time.Time) bool {
	if f.active || f.sweeping || f.again || len(f.later) > 0 || !f.l.board.empty() {
		f.quiet = time.Time{}
		return false
	}
	if f.quiet.IsZero() {
		f.quiet = now
	}
	f.pause = min(f.pause, nap)
	return now.Sub(f.quiet) >= nap
}

// turn does what can be done now and returns when to look again.
func (f *feeder) turn() time.Duration {
	if f.clockWentBack(time.Now()) {
		f.l.board.hurry()
	}
	f.heed()
	if f.l.passWanted.Swap(false) {
		f.again = true
	}
	for f.l.outbox() && f.fillThin() {
	}
	f.offerLater(time.Now())
	for f.active && f.step() {
	}
	if f.sweeping && !f.active && f.l.board.swept() {
		f.sweeping = false
	}
	if !f.active && !f.sweeping && f.again && len(f.later) < f.laterSize()/2 && f.l.board.room() >= f.l.board.size/2 {
		f.begin()
		return 0
	}
	if len(f.later) == 0 || isDue(f.later[0].At, time.Now()) { // that one waits for room
		return idle
	}
	return min(idle, time.Until(f.later[0].At))
}

// clockWentBack reports whether the clock of the computer was set back by more
// than a minute since it was last asked. Then a time that was set before may be
// further away than the pause that it stands for, and nothing waits for it.
func (f *feeder) clockWentBack(now time.Time) bool {
	now = now.Round(0) // the monotonic reading does not follow the clock
	back := now.Before(f.seen.Add(-time.Minute))
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
	f.active, f.again, f.cursor, f.later = true, false, row{}, nil
}

// heed starts a sweep when the board asks for one.
func (f *feeder) heed() {
	if f.l.board.sweepOver() {
		f.sweeping = false
		f.begin()
	}
	if f.l.board.sweepWanted() {
		f.sweeping, f.active, f.again, f.cursor, f.later = true, true, false, row{}, nil
	}
}

// take puts new entries on the board. When one finds no room, a pass brings it
// and those after it.
func (f *feeder) take(rows []row) {
	f.heed()
	for _, fresh := range rows {
		f.l.board.reach(fresh.Seq)
		switch {
		case fresh.Once && f.offer(fresh, true):
		case f.active && !f.passed(fresh):
		case f.active && f.l.outbox():
			f.again = true
		case f.offer(fresh, false):
		case f.active:
			f.again = true
		case f.sweeping:
			f.active, f.cursor = true, row{Seq: fresh.Seq - 1} // it goes on from here
		default:
			f.begin()
		}
	}
}

// passed reports whether the pass is past the place of a row: because the clock
// went back, or because the row is older than when it came to be one.
func (f *feeder) passed(r row) bool {
	if f.sweeping {
		return !f.l.outbox() && r.Seq <= f.cursor.Seq
	}
	if !r.At.Equal(f.cursor.At) {
		return r.At.Before(f.cursor.At)
	}
	return !f.l.outbox() && r.Seq <= f.cursor.Seq
}

// step reads one page of the pass. It reports false when the pass ended or has
// to wait for room.
func (f *feeder) step() bool {
	if f.l.board.room() < f.l.board.size/4 {
		return false // settled entries nudge
	}
	if f.sweeping {
		return f.sweep()
	}
	rows, err := f.rows(f.cursor, f.l.file.due)
	if err != nil {
		return false
	}
	now := time.Now()
	for _, next := range rows {
		switch {
		case !isDue(next.At, now):
			if !f.keep(next) { // nor will there be room for those that come after it
				f.cursor = row{At: now.Add(longestPause)}
				return true
			}
		case !f.offer(next, false):
			return false
		}
		f.cursor = next
	}
	f.active = len(rows) == f.page()
	return f.active
}

// sweep reads one page of a sweep, as step does.
func (f *feeder) sweep() bool {
	rows, err := f.rows(f.cursor, func(tx *store.Tx, after row, limit int) ([]row, error) {
		return f.l.file.pending(tx, after.Seq, limit)
	})
	if err != nil {
		return false
	}
	for _, row := range rows {
		if !f.offer(row, true) {
			return false
		}
		f.cursor.Seq = row.Seq
	}
	f.active = len(rows) == f.page()
	return f.active
}

// offer puts a row on the board.
func (f *feeder) offer(r row, anyway bool) bool {
	if r.Once {
		return f.l.board.offerOnce(r.Line, r.Seq, anyway)
	}
	return f.l.board.offer(r.Line, r.Seq, anyway)
}

// isDue reports whether a due time has come. One further away than any pause
// was set under a clock that was ahead, and counts as due.
func isDue(at, now time.Time) bool {
	ahead := at.Sub(now)
	return ahead <= 0 || ahead > longestPause
}

// keep remembers an entry for when its time has come. Without room for it,
// another pass will find it.
func (f *feeder) keep(back row) bool {
	if len(f.later) >= f.laterSize() {
		f.again = true
		return false
	}
	heap.Push(&f.later, back)
	return true
}

// offerLater puts on the board what is due by now.
func (f *feeder) offerLater(now time.Time) {
	for len(f.later) > 0 {
		row := f.later[0]
		if !isDue(row.At, now) || !f.offer(row, false) {
			return
		}
		heap.Pop(&f.later)
	}
}

// fillThin fills up one line that runs low from its batch's own index.
func (f *feeder) fillThin() bool {
	l := f.l
	batch, after, found := l.board.thin()
	if !found {
		return false
	}
	var rows []row
	var last uint64
	var more bool
	err := l.r.cfg.Store.View(func(tx *store.Tx) (err error) {
		rows, last, more, err = l.file.lined(tx, batch, after, lineSize)
		return err
	})
	if err != nil {
		l.r.log.Error("outbox cannot be read", "batch", batch, "error", err)
		return false
	}
	var seqs []uint64 // those in backoff come by the heap or a pass
	for now, i := time.Now(), 0; i < len(rows); i++ {
		if f.sweeping || isDue(rows[i].At, now) {
			seqs = append(seqs, rows[i].Seq)
		}
	}
	l.board.fill(batch, seqs, last, more, f.sweeping)
	return true
}

// rows reads a page of an index.
func (f *feeder) rows(after row, read func(*store.Tx, row, int) ([]row, error)) (rows []row, err error) {
	err = f.l.r.cfg.Store.View(func(tx *store.Tx) error {
		rows, err = read(tx, after, f.page())
		return err
	})
	f.l.r.wakes.rows.Add(uint64(len(rows)))
	if err != nil {
		f.l.r.log.Error("what waits for a webhook cannot be read", f.l.attrs("", "error", err)...)
	}
	return rows, err
}

// page is how many rows are read at once, laterSize how many are remembered that
// are in backoff: as many as the board is worth.
func (f *feeder) page() int { return min(passStep, f.l.board.size) }

func (f *feeder) laterSize() int { return 2 * f.l.board.size }

// leads looks where the lane leads, when that may have changed, and reports
// whether anything may go there. What waits goes out at once to an address that
// is new, or by headers and secrets that are.
func (f *feeder) leads() bool {
	l := f.l
	if l.posting.Err() != nil {
		return false // it was removed, even if there is one of that name again
	}
	if f.to.URL != "" && !l.changed.Swap(false) {
		return true
	}
	to, status := l.r.resolve(l.is)
	if status != delivery.Ready {
		f.to = event.Destination{}
		return false
	}
	if f.to.URL != "" && !sameAccess(f.to, to) {
		l.board.hurry()
	}
	f.to = to
	at := destination(to.URL)
	l.to.Store(&at)
	return true
}

// laterHeap is entries by due time.
type laterHeap []row

func (h laterHeap) Len() int           { return len(h) }
func (h laterHeap) Less(i, j int) bool { return h[i].At.Before(h[j].At) }
func (h laterHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *laterHeap) Push(x any) { *h = append(*h, x.(row)) }

// Pop implements [heap.Interface].
func (h *laterHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// sameAccess reports whether two destinations are the same to the receiver.
func sameAccess(a, b event.Destination) bool {
	return a.URL == b.URL && maps.Equal(a.Headers, b.Headers) && slices.Equal(a.Secrets, b.Secrets)
}
