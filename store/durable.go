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
// transaction at a time: to end one, bbolt takes a lock with which others, Close
// and readers that begin while the file is mapped anew, wait for all that are
// open. Who ended one and held another would wait for them as they for him.
func (s *Store) read(fn func(*bolt.Tx) error) error {
	for {
		b, err := s.db.Begin(false)
		if err != nil {
			return err
		}
		f := s.flightOf(b)
		if f == nil {
			defer rollback(b)
			return fn(b)
		}
		rollback(b)
		if f.join() {
			defer f.leave()
			return fn(f.before)
		}
		if <-f.landed; f.err != nil {
			return errors.Join(ErrFailed, f.err)
		}
	}
}

// flightOf is the commit that made the state of b, or nil when that has landed.
func (s *Store) flightOf(b *bolt.Tx) *flight {
	if int64(b.ID()) <= s.durable.Load() {
		return nil
	}
	f := s.flight.Load()
	if f.id != b.ID() {
		return nil // another one is in the air: that of b has landed
	}
	return f
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
