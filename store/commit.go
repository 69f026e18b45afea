package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// maxGroup bounds how many calls share one commit, so that one huge group does
// not hold up the first of them for long.
const maxGroup = 1024

// States of an update. The writer and a caller whose context ended race for
// the step out of waiting.
const (
	waiting int32 = iota
	taken
	withdrawn
)

// update is one call of Update on its way through the writer.
type update struct {
	fn       func(*Tx) error
	state    atomic.Int32
	done     chan struct{} // closed when err and panicked are final
	err      error
	panicked any
}

// wait returns when the update has its result.
func (u *update) wait() error {
	<-u.done
	if u.panicked != nil {
		panic(u.panicked)
	}
	return u.err
}

// write is the writer goroutine: it commits groups until the store is closed
// and the queue is empty.
func (s *Store) write() {
	defer close(s.done)
	for range s.kick {
		for group := s.take(); len(group) > 0; group = s.take() {
			s.commit(group)
			s.gather(len(group))
		}
	}
	for group := s.take(); len(group) > 0; group = s.take() {
		s.commit(group)
	}
}

// gather lets the callers run who were just answered, until they wait again
// beside those who wait already. Without it the callers fall into two camps
// that are committed in turns, with twice the fsyncs. It only yields, and not
// for long: a lone caller waits for nobody, and callers who do not come back
// cost some microseconds.
func (s *Store) gather(answered int) {
	expected := answered + s.waiting()
	for range maxYields {
		if n := s.waiting(); answered == 1 && n == 0 || n >= expected {
			return
		}
		runtime.Gosched()
	}
}

func (s *Store) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// maxYields bounds gather: with nothing else to run, a yield takes well under
// a microsecond.
const maxYields = 128

// take removes up to maxGroup calls from the queue and claims them.
func (s *Store) take() []*update {
	s.mu.Lock()
	n := min(len(s.queue), maxGroup)
	group := s.queue[:n:n]
	s.queue = s.queue[n:]
	if len(s.queue) == 0 {
		s.queue = nil
	}
	s.mu.Unlock()

	claimed := make([]*update, 0, len(group))
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

// commit runs the group in one transaction. A closure that failed after it
// wrote spoils the transaction, which then starts again without it.
func (s *Store) commit(group []*update) {
	for len(group) > 0 {
		rest, again := s.attempt(group)
		if !again {
			return
		}
		group = rest
	}
}

// attempt runs the group once. It returns the updates to run again, and true,
// when one of them had to be thrown out of a started transaction.
func (s *Store) attempt(group []*update) (rest []*update, again bool) {
	if s.failed.Load() {
		finish(group, ErrFailed)
		return nil, false
	}
	btx, err := s.db.Begin(true)
	if err != nil {
		finish(group, fmt.Errorf("store: begin: %w", err))
		return nil, false
	}
	at := now()
	good := make([]*update, 0, len(group))
	var emitted bool
	var counts OutboxCounts
	for i, u := range group {
		tx := &Tx{bolt: btx, schema: s.schema, now: at, disable: s.opts.DisableOutboxDelivery}
		u.run(tx)
		s.reportDamage(tx)
		if u.err == nil && u.panicked == nil {
			good = append(good, u)
			emitted = emitted || tx.emitted
			counts.sum(tx.counts)
			continue
		}
		close(u.done)
		if tx.writes > 0 {
			rollback(btx)
			return append(good, group[i+1:]...), true
		}
	}
	if len(good) == 0 {
		rollback(btx)
		return nil, false
	}
	s.finishCommit(btx, good, emitted, counts)
	return nil, false
}

func (s *Store) finishCommit(btx *bolt.Tx, group []*update, emitted bool, counts OutboxCounts) {
	id := btx.ID()
	start := time.Now()
	err := btx.Commit()
	took := time.Since(start)
	s.stats.commit(len(group), took)
	if err == nil {
		s.backlog.add(counts)
		if s.opts.OnCommit != nil {
			s.opts.OnCommit(len(group), took)
		}
		if emitted {
			s.broadcast()
		}
		finish(group, nil)
		return
	}
	rollback(btx)
	if IsFull(err) && !s.visible(id) {
		s.space.full()
		finish(group, fmt.Errorf("store: commit: %w", errors.Join(ErrDiskFull, err)))
		return
	}
	s.failed.Store(true)
	s.opts.Fatal(fmt.Errorf("store: commit: %w", err))
	finish(group, errors.Join(ErrFailed, err))
}

// visible reports whether the transaction with the given id is the file's
// current state although its commit failed. A full disk refuses the data
// pages, before the meta page that would make them current; only when the meta
// page still is the old one is it certain that nothing happened.
func (s *Store) visible(id int) bool {
	current := id
	err := s.db.View(func(b *bolt.Tx) error {
		current = b.ID()
		return nil
	})
	return err != nil || current >= id
}

// IsFull reports whether err, of a write to any file, says that the file may not
// grow: for want of space, by a quota, or by a limit on the size of files. It is
// true of ErrDiskFull too.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) ||
		errors.Is(err, berrors.ErrMaxSizeReached) || errors.Is(err, ErrDiskFull)
}

func (s *Store) broadcast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.wake)
	s.wake = make(chan struct{})
}

// run calls the closure and catches its panic for the caller.
func (u *update) run(tx *Tx) {
	defer func() {
		if p := recover(); p != nil {
			u.panicked = fmt.Sprintf("%v\n\nin a store transaction:\n%s", p, debug.Stack())
		}
	}()
	u.err = u.fn(tx)
}

func finish(group []*update, err error) {
	for _, u := range group {
		u.err = err
		close(u.done)
	}
}

// rollback ends a transaction whose result no longer matters; its only error
// is that it has ended already.
func rollback(btx *bolt.Tx) { _ = btx.Rollback() }
