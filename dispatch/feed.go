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

// laterSize bounds the entries of the outbox in backoff that are kept in memory. Another
// pass finds the rest.
const laterSize = 4096

// feeder fills the board of a lane. It takes new entries as the tail hands them over, and
// finds those that the tail does not see: entries of earlier runs, entries whose backoff
// is over, and entries that found no room. For these it reads the due index from front to
// end, which is a pass: once at the start, and again only if something was left out.
// During a pass the feeder takes no new entries from the tail, since the pass reaches
// them after the older ones of their batch. Entries that are due later are kept in a heap
// while there is room; every row of the heap is also in the index, or stale.
//
// A sweep is a pass over the pending entries in the order of their sequences, whether due
// or not. It replaces everything else until the breaker is closed and all of its entries
// have been sent once.
type feeder struct {
	l        *lane
	cursor   row  // the position of the pass; a sweep only uses sequences
	active   bool // a pass is under way, perhaps waiting for room
	again    bool // another pass is needed: something was left out
	sweeping bool
	later    laterHeap
	seen     time.Time         // the clock's newest reading
	pause    time.Duration     // until the next turn
	quiet    time.Time         // since when there has been nothing to do
	to       event.Destination // where the lane last led
}

// idle bounds the sleep of the feeder, so that its turns can be monitored and a changed
// clock is noticed.
const idle = 10 * time.Second

// nap is how long a lane of package delivery stays awake with nothing to do.
const nap = time.Minute

// feed runs the feeder, and with it the lane: that of the outbox until the relay stops,
// any other until it has had nothing to do for a while, or may not send.
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
	l.pool.turn(l, "")
}

// serve does what can be done now. It reports whether the lane has gone to sleep.
func (f *feeder) serve() (asleep bool) {
	l, ready := f.l, f.leads()
	if !ready {
		l.board.halt()
		f.active, f.sweeping, f.again, f.later, f.cursor, f.pause = true, false, false, nil, row{}, idle
		return !l.outbox() && l.r.retire(l)
	}
	f.pause = f.turn()
	l.pool.send(l)
	return !l.outbox() && f.drowsy(time.Now()) && l.r.retire(l)
}

// wait returns when there is something to do, with what was handed over meanwhile; on is
// false if the relay stops.
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

// drowsy reports whether the lane has had nothing to do for so long that it may sleep.
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

// turn does what can be done now and returns the time until the next turn.
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
	if len(f.later) == 0 || isDue(f.later[0].At, time.Now()) { // it waits for room
		return idle
	}
	return min(idle, time.Until(f.later[0].At))
}

// clockWentBack reports whether the computer's clock was set back by more than a minute
// since the last call. A time that was set before may then be further away than the pause
// that it stands for, and no entry waits for it.
func (f *feeder) clockWentBack(now time.Time) bool {
	now = now.Round(0) // the monotonic reading does not follow the clock
	back := now.Before(f.seen.Add(-time.Minute))
	f.seen = now
	return back
}

// begin starts a pass, which reaches everything in the heap. A sweep continues instead:
// it reaches everything, whatever the clock says.
func (f *feeder) begin() {
	if f.sweeping {
		f.again = true
		return
	}
	f.active, f.again, f.cursor, f.later = true, false, row{}, nil
}

// heed starts a sweep if the board requests one.
func (f *feeder) heed() {
	if f.l.board.sweepOver() {
		f.sweeping = false
		f.begin()
	}
	if f.l.board.sweepWanted() {
		f.sweeping, f.active, f.again, f.cursor, f.later = true, true, false, row{}, nil
	}
}

// take puts new entries on the board. If one finds no room, a pass brings it and those
// after it.
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
			f.active, f.cursor = true, row{Seq: fresh.Seq - 1} // the pass continues from here
		default:
			f.begin()
		}
	}
}

// passed reports whether the pass is beyond the place of a row, because the clock went
// back or because the row was added with an older time.
func (f *feeder) passed(r row) bool {
	if f.sweeping {
		return !f.l.outbox() && r.Seq <= f.cursor.Seq
	}
	if !r.At.Equal(f.cursor.At) {
		return r.At.Before(f.cursor.At)
	}
	return !f.l.outbox() && r.Seq <= f.cursor.Seq
}

// step reads one page of the pass. It returns false if the pass ended or must wait for
// room.
func (f *feeder) step() bool {
	if f.l.board.room() < f.l.board.size/4 {
		return false // settled entries nudge the feeder
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
		case !next.First && !isDue(next.At, now):
			if !f.keep(next) { // later rows will not find room either
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

// sweep reads one page of a sweep, as step does for a pass.
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

// isDue reports whether a due time has come. A time further away than any pause was set
// under a clock that was ahead, and counts as due.
func isDue(at, now time.Time) bool {
	ahead := at.Sub(now)
	return ahead <= 0 || ahead > longestPause
}

// markFirst finds the rows that wait for no time, since no attempt has failed, although
// their time is ahead of the clock: the records of a cell are not dated before those of an
// owner whose clock was ahead.
func markFirst(tx *store.Tx, rows []row, record func(row) uint64) error {
	now, latest := time.Now(), tx.Now()
	for i, r := range rows {
		if isDue(r.At, now) || r.At.After(latest) {
			continue
		}
		rec, found, err := delivery.Find(tx, record(r))
		if delivery.IgnoreDamage(err) != nil {
			return err
		}
		rows[i].First = found && err == nil && (rec.Once || !rec.DueAt().After(rec.CreatedAt))
	}
	return nil
}

// keep remembers an entry until it is due. If there is no room for it, another pass will
// find it.
func (f *feeder) keep(back row) bool {
	if len(f.later) >= f.laterSize() {
		f.again = true
		return false
	}
	heap.Push(&f.later, back)
	return true
}

// offerLater puts the entries on the board that have become due.
func (f *feeder) offerLater(now time.Time) {
	for len(f.later) > 0 {
		row := f.later[0]
		if !isDue(row.At, now) || !f.offer(row, false) {
			return
		}
		heap.Pop(&f.later)
	}
}

// fillThin refills one line with few entries left from its batch's own index.
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
	var seqs []uint64 // entries in backoff come from the heap or a pass
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

// page returns how many rows are read at once, and laterSize how many entries in backoff
// are remembered. Both follow the size of the board.
func (f *feeder) page() int { return min(passStep, f.l.board.size) }

func (f *feeder) laterSize() int { return 2 * f.l.board.size }

// leads looks up where the lane leads if that may have changed, and reports whether it
// may send there. If the address, the headers or the secrets are new, waiting entries are
// sent at once.
func (f *feeder) leads() bool {
	l := f.l
	if l.posting.Err() != nil {
		return false // it was removed, even if one of that name exists again
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
	l.pool.turn(l, destination(to.URL))
	return true
}

// laterHeap is a heap of entries by due time.
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

// sameAccess reports whether two destinations are the same for the receiver.
func sameAccess(a, b event.Destination) bool {
	return a.URL == b.URL && maps.Equal(a.Headers, b.Headers) && slices.Equal(a.Secrets, b.Secrets)
}
