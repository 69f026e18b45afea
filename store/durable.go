package store

import (
	"errors"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// bbolt writes the meta page that makes a commit current, syncs it, and
// returns after that: in between, a new bbolt transaction reads what a power
// cut, or an error of the sync, may take back. So a commit is in flight until
// bbolt has returned, and a reader that meets one in flight gets the state
// before it instead, which is the newest one that anybody was told of.

// stateLease is how long a flight keeps the state before it open for readers.
// bbolt waits for all readers when the file outgrows its mapping, so without
// an end the commit would wait for itself there. Readers that come later wait
// for the flight to land.
const stateLease = 100 * time.Millisecond

// flight is a commit on its way to the disk.
type flight struct {
	id     int
	landed chan struct{} // closed when err is final
	err    error

	before *bolt.Tx // the state before it, read by many goroutines at once

	mu      sync.Mutex
	holders int  // of before: its readers and, until it is closed, the flight
	closed  bool // no further reader may have before
}

// trust takes the current state of the file as one that is on the disk.
func (s *Store) trust() error {
	s.flight.Store(&flight{})
	return s.db.View(func(b *bolt.Tx) error {
		s.durable.Store(int64(b.ID()))
		return nil
	})
}

// land commits btx. Readers see its changes once land is about to return nil.
func (s *Store) land(btx *bolt.Tx) error {
	before, err := s.db.Begin(false)
	if err != nil {
		return err
	}
	f := &flight{id: btx.ID(), landed: make(chan struct{}), before: before, holders: 1}
	s.flight.Store(f)
	lease := time.AfterFunc(stateLease, f.close)
	if f.err = s.commitTx(btx); f.err == nil {
		s.durable.Store(int64(f.id))
	}
	close(f.landed)
	if lease.Stop() {
		f.close()
	}
	return f.err
}

// read calls fn with a state of the file that is on the disk. It holds one bbolt
// transaction at a time: bbolt's Close waits for the readers with a lock that
// each of them needs to end, so who ends one and holds another waits for ever.
func (s *Store) read(fn func(*bolt.Tx) error) error {
	b, err := s.db.Begin(false)
	if err != nil {
		return err
	}
	defer rollback(b)
	if int64(b.ID()) <= s.durable.Load() {
		return fn(b)
	}
	f := s.flight.Load()
	if f.id != b.ID() {
		return fn(b) // another flight is in the air: the one of b has landed
	}
	if f.join() {
		defer f.leave()
		rollback(b)
		return fn(f.before)
	}
	if <-f.landed; f.err != nil {
		return errors.Join(ErrFailed, f.err)
	}
	return fn(b)
}

// join reports whether the caller may read before, until it calls leave.
func (f *flight) join() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.holders++
	return true
}

func (f *flight) leave() {
	f.mu.Lock()
	f.holders--
	last := f.holders == 0
	f.mu.Unlock()
	if last {
		rollback(f.before)
	}
}

// close lets no further reader join, so that before ends with those it has.
func (f *flight) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.leave()
}
