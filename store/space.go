package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"postern/store/files"
)

// spaceEvery bounds how often the free space is read.
const spaceEvery = time.Second

// space watches the free bytes of the disk that holds the file.
type space struct {
	folder string
	min    uint64

	mu      sync.Mutex
	checked time.Time
	free    uint64
	known   bool
}

// Admit reports whether new work may begin. It returns ErrDiskFull while fewer than
// Options.MinFree bytes are free, ErrFailed after a commit with an unknown outcome, and
// nil otherwise. Deliveries and deletions do not call it, so that they can free space.
// The free space is read at most once a second.
func (s *Store) Admit() error {
	if s.failed.Load() {
		return ErrFailed
	}
	if free, known := s.space.bytes(); known && free < s.opts.MinFree {
		return ErrDiskFull
	}
	return nil
}

// DiskFull reports whether the disk of the file itself has fewer than Options.MinFree bytes
// free. Admit also returns ErrDiskFull for a database without room.
func (s *Store) DiskFull() bool {
	free, known := files.FreeBytes(s.space.folder)
	return known && free < s.opts.MinFree
}

// probeTimeout is how long the writer may take to begin a change before the store counts
// as hung. It is longer than the largest commits on a slow disk.
const probeTimeout = 5 * time.Second

// errProbe undoes the change of a probe.
var errProbe = errors.New("only a probe")

// Probe begins a change and undoes it, which costs no commit. It fails if the writer does
// not begin the change within five seconds: the disk hangs, or the store has failed or is
// closed.
func (s *Store) Probe(ctx context.Context) error {
	if s.cell != nil && s.Valid() {
		return nil // a commit may wait for the database for as long as the lease lasts
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, errors.New("the data file takes no changes; its disk may hang"))
	defer cancel()
	err := s.Update(ctx, func(*Tx) error { return errProbe })
	if errors.Is(err, errProbe) {
		return nil
	}
	return err
}

func (p *space) bytes() (free uint64, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := time.Now(); p.checked.IsZero() || t.Sub(p.checked) >= spaceEvery || t.Before(p.checked) {
		p.checked = t
		p.free, p.known = files.FreeBytes(p.folder)
	}
	return p.free, p.known
}

// full notes that a write just failed for lack of space, whatever the last reading was.
func (p *space) full() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.checked, p.free, p.known = time.Now(), 0, true
}
