package store

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"time"

	bolt "go.etcd.io/bbolt"
)

// maxGroup bounds the calls that share one commit, so that a huge group does not delay
// its first calls for long.
const maxGroup = 1024

// write is the writer goroutine: it commits groups until the store is closed
// and the queue is empty.
func (s *Store) write() {
	defer close(s.done)
	for range s.kick {
		s.stats.wakes.Add(1)
		s.rest()
		for group := s.take(); len(group) > 0; group = s.take() {
			began := time.Now()
			s.commit(group)
			s.gather(asked(group), time.Since(began))
			s.rest()
		}
	}
	for group := s.take(); len(group) > 0; group = s.take() {
		s.commit(group)
	}
}

// gather yields to the callers that were just answered until they wait again beside those
// that already wait, up to an eighth of the last commit, and at most gatherAtMost. Without
// it the callers form two groups that are committed in turns, with twice the fsyncs. A lone
// caller does not wait for others. After a wait in which no caller came, some commits pass
// without one: 1, 2, 4 and so on, at most maxUngathered.
func (s *Store) gather(answered int, took time.Duration) {
	already := s.waiting()
	if answered == 1 && already == 0 {
		return
	}
	if s.ungathered > 0 {
		s.ungathered--
		return
	}
	s.await(answered+already, took)
	if s.waiting() > already {
		s.vain = 0
		return
	}
	s.vain = min(max(1, 2*s.vain), maxUngathered)
	s.ungathered = s.vain
}

// await yields until so many calls wait, or the time of gather ends.
func (s *Store) await(calls int, took time.Duration) {
	for range maxYields {
		if s.waiting() >= calls {
			return
		}
		runtime.Gosched()
	}
	over := time.NewTimer(min(took/8, gatherAtMost))
	defer over.Stop()
	for s.waiting() < calls {
		select {
		case _, open := <-s.kick:
			if !open {
				return
			}
		case <-over.C:
			return
		}
	}
}

// asked counts the calls of a group that requested a commit.
func asked(group []*update) (n int) {
	for _, u := range group {
		if !u.rides {
			n++
		}
	}
	return n
}

func (s *Store) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking
}

// Bounds of gather. A yield takes well under a microsecond when nothing else can run.
const (
	maxYields     = 128
	gatherAtMost  = time.Millisecond
	maxUngathered = 16
)

// take removes up to maxGroup calls from the queue and claims them. Calls that ride stay
// in the queue until another call requests a commit.
func (s *Store) take() []*update {
	s.mu.Lock()
	n := min(len(s.queue), maxGroup)
	if s.asking == 0 && !s.closed {
		n = 0
	}
	group := s.queue[:n:n]
	s.queue = s.queue[n:]
	if len(s.queue) == 0 {
		s.queue = nil
	}
	for _, u := range group {
		if !u.rides {
			s.asking--
		}
	}
	s.mu.Unlock()

	claimed := make([]*update, 0, n)
	for _, u := range group {
		if u.state.CompareAndSwap(waiting, taken) {
			claimed = append(claimed, u)
		}
	}
	if len(claimed) == 0 && n > 0 {
		return s.take() // all withdrawn: look for the next ones
	}
	return claimed
}

// commit runs the group in one transaction. A closure that failed after it wrote spoils
// the transaction, which is then started again without it. Failed calls are answered
// after the commit, like the others: their error may depend on what another closure
// wrote, and no caller may see that before it is on disk.
func (s *Store) commit(group []*update) {
	var refused []*update
	var err error
	for again := true; again && len(group) > 0; {
		var out []*update
		group, out, again, err = s.attempt(group)
		refused = append(refused, out...)
	}
	finish(group, err)
	switch {
	case err == nil:
		answer(refused)
	case errors.Is(err, ErrDiskFull):
		s.commit(refused) // what they found did not happen
	default:
		finish(refused, err)
	}
}

// attempt runs the group once and commits it. If a closure had to be removed from the
// started transaction, again is true and rest must be run once more.
func (s *Store) attempt(group []*update) (rest, refused []*update, again bool, err error) {
	if s.failed.Load() {
		return group, nil, false, ErrFailed
	}
	if err := s.room(); err != nil {
		return group, nil, false, err
	}
	btx, err := s.begin()
	if err != nil {
		return group, nil, false, fmt.Errorf("store: begin: %w", err)
	}
	defer s.end(btx)
	good := make([]*update, 0, len(group))
	open, made := openings{rows: s.writeSet()}, did{}
	at := s.opts.Now()
	running := at.Sub(s.opened)
	now, steady := stamp(s.clock.Date(at, running)), s.clock.SteadyAt(running)
	start := func() *Tx {
		return &Tx{bolt: btx, openings: &open, schema: s.schema, now: now, steady: steady}
	}
	for i, u := range group {
		tx := start()
		u.run(tx)
		s.reportDamage(tx)
		if u.broken != nil {
			return append(good, group[i:]...), refused, false, s.doom(u.broken)
		}
		if u.err == nil && u.panicked == nil {
			good = append(good, u)
			made.add(tx)
			continue
		}
		refused = append(refused, u)
		if tx.writes > 0 {
			return append(good, group[i+1:]...), refused, true, nil
		}
	}
	if len(good) == 0 {
		s.unused = btx
		return nil, refused, false, nil
	}
	if err := s.finishShared(start(), &made); err != nil {
		return good, refused, false, err
	}
	next, err := writeTallies(btx, &open, s.tallies)
	if err == nil && !s.follows() {
		err = s.clock.Keep(start().putMeta, s.opts.Now(), s.running(), false)
	}
	if err == nil {
		err = s.replicate(btx, open.rows, now)
	}
	if err == nil {
		err = s.finishCommit(btx, len(good))
		if open.rows != nil && errors.Is(err, ErrDiskFull) { // the cell has the change, and the file lacks it
			err = s.fail(err)
		}
	}
	if err != nil {
		return good, refused, false, err
	}
	maps.Copy(s.tallies, next)
	s.aside.heal(made.healed)
	if made.woken {
		s.woken.ring()
	}
	for _, fn := range made.after {
		fn()
	}
	return good, refused, false, nil
}

// did is what the closures of a commit request for the time after the commit.
type did struct {
	woken  bool
	healed []string
	after  []func()
}

func (d *did) add(tx *Tx) {
	d.woken = d.woken || tx.woken
	d.healed = append(d.healed, tx.healed...)
	d.after = append(d.after, tx.after...)
}

// finishShared writes what all closures share, in a closure of its own.
func (s *Store) finishShared(tx *Tx, made *did) error {
	if len(tx.openings.shared) == 0 {
		return nil
	}
	last := &update{fn: tx.openings.finishShared}
	last.run(tx)
	s.reportDamage(tx)
	switch {
	case last.broken != nil:
		return s.doom(last.broken)
	case last.panicked != nil:
		return fmt.Errorf("store: what a commit shares: %v", last.panicked)
	case last.err != nil:
		return last.err
	}
	made.add(tx)
	return nil
}

// begin starts the writer's transaction, or continues the one in which nothing was
// written.
func (s *Store) begin() (btx *bolt.Tx, err error) {
	if btx, s.unused = s.unused, nil; btx != nil {
		return btx, nil
	}
	err = shielded(func() error {
		btx, err = s.db.Begin(true)
		return err
	})
	return btx, err
}

// end ends a transaction of begin. To roll one back, bbolt reads all pages of the file in
// a goroutine of its own. That takes seconds for a large file and crashes the process for
// a damaged one. A transaction that was not written to is therefore kept for the next
// group.
func (s *Store) end(btx *bolt.Tx) {
	if btx != s.unused && !s.broken.Load() {
		rollback(btx)
	}
}

// finishCommit commits the transaction of the given number of calls. It returns
// ErrDiskFull if nothing was changed, and ErrFailed if the outcome is unknown.
func (s *Store) finishCommit(btx *bolt.Tx, calls int) error {
	id := btx.ID()
	size := btx.Size()
	start := time.Now()
	err := s.land(btx)
	took := time.Since(start)
	written := btx.Stats()
	s.stats.commit(calls, took, written)
	if err == nil {
		s.trimResident(size, written.GetPageCount())
		if s.snapshots != nil {
			s.snapshots.committed()
		}
		if s.opts.OnCommit != nil {
			s.opts.OnCommit(calls, took)
		}
		return nil
	}
	if errors.Is(err, ErrCorrupt) {
		return s.doom(err)
	}
	rollback(btx)
	if IsFull(err) && !s.visible(id) {
		s.space.full()
		s.clock.Unsaved()
		return fmt.Errorf("store: commit: %w", errors.Join(ErrDiskFull, err))
	}
	return s.fail(fmt.Errorf("commit: %w", err))
}

// visible reports whether the transaction with the given id is the current state of the
// file although its commit failed. A full disk refuses the data pages before the meta
// page that would make them current. Only if the old meta page is still in place is it
// certain that nothing was changed.
func (s *Store) visible(id int) bool {
	current := id
	err := s.db.View(func(b *bolt.Tx) error {
		current = b.ID()
		return nil
	})
	return err != nil || current >= id
}

// rollback ends a transaction whose result no longer matters. Its only possible error is
// that the transaction has already ended.
func rollback(btx *bolt.Tx) { _ = btx.Rollback() }

// atRest has the writer call fn while no commit is under way, and returns after that. If
// it returns ErrClosed, fn was not called.
func (s *Store) atRest(fn func()) error {
	done := make(chan struct{})
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.resting = append(s.resting, func() {
		defer close(done)
		fn()
	})
	select {
	case s.kick <- struct{}{}:
	default:
	}
	s.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-s.done:
	}
	select {
	case <-done:
		return nil
	default:
		return ErrClosed
	}
}

// rest calls the functions that wait for the writer to rest.
func (s *Store) rest() {
	s.mu.Lock()
	waiting := s.resting
	s.resting = nil
	s.mu.Unlock()
	for _, fn := range waiting {
		fn()
	}
}
