package store

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// bbolt writes the meta page that makes a commit current, syncs it, and then returns.
// Between the write and the return, a new bbolt transaction reads a state that a power
// cut, or an error of the sync, may undo. A commit is therefore in flight until bbolt has
// returned. A reader that starts while a commit is in flight gets the state before it,
// which is the newest one that any caller has been answered with.

// stateLease is how long a flight keeps the state before it open for readers. bbolt waits
// for all readers when the file outgrows its mapping, so without a limit the commit would
// wait for its own flight. Later readers wait until the flight has landed.
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

// trust takes the current state of the file as durable.
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

// read calls fn with a durable state of the file. It holds one bbolt transaction at a
// time. To end a transaction, bbolt takes a lock with which Close, and readers that start
// while the file is remapped, wait for all open transactions. A goroutine that ended one
// transaction while it held another would deadlock with them.
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

// flightOf returns the commit that made the state of b, or nil if that has landed.
func (s *Store) flightOf(b *bolt.Tx) *flight {
	if int64(b.ID()) <= s.durable.Load() {
		return nil
	}
	f := s.flight.Load()
	if f.id != b.ID() {
		return nil // another commit is in flight: that of b has landed
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

// close admits no further reader, so that before ends with its present ones.
func (f *flight) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.leave()
}

// writeBackMetas makes the disk hold the two meta pages that bbolt reads. After a failed sync, or
// a kill before it, the newer of them may exist in the system's memory only. bbolt would
// take it for the state of the file and reuse pages that the state on disk still needs:
// after a power cut, neither state would be whole. It therefore writes both pages
// back unchanged and syncs the file before the first commit. The caller holds the lock on
// the file.
func writeBackMetas(path string, pageSize int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	metas := make([]byte, 2*pageSize)
	_, err = f.ReadAt(metas, 0)
	if err == nil {
		_, err = f.WriteAt(metas, 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write back the meta pages: %w", err)
	}
	return nil
}
