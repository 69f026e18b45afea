package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"postern/store/files"
	"postern/store/pages"
	"postern/store/schema"
	"postern/store/survey"
)

// A transaction that reads the whole file prevents reuse of every page that it can see.
// The file grows, and the writer waits for the transaction when the file outgrows its
// mapping. A snapshot therefore uses none. It copies the file page by page while the file
// changes, and the writer notes after each commit which pages that wrote. The copies of
// these pages are outdated and are made again, until few are left. The last ones are
// copied while the writer rests between two commits, with heads that name the state of
// that moment.

const (
	copyStep     = 256 << 10 // bytes copied at once
	copySync     = 8 << 20   // bytes written before a sync: more would reach the disk all at once, with commits behind them
	copyFewPages = 1024      // copied while the writer waits
	copyRounds   = 20        // after which the writer waits for all of them
)

// ErrSnapshotting refuses a second snapshot at the same time.
var ErrSnapshotting = errors.New("a snapshot of the data file is being made already")

// Snapshot is the file as it was at one moment, in a file of its own. Only one goroutine
// may use it.
type Snapshot struct {
	f     *os.File
	size  int64
	at    time.Time
	found *survey.Survey
	close func() error
	store *Store // the store that others write to meanwhile; nil: none
}

// Snapshot copies the file, as it is at a moment before Snapshot returns, to a file
// beside it, and reads the copy back. Writers wait for some milliseconds in all. Snapshot
// needs as much free space as the size of the file. Errors are ErrDiskFull,
// ErrSnapshotting, ErrCorrupt for damaged pages, the cause of ctx's end, and those of
// Update.
func (s *Store) Snapshot(ctx context.Context) (*Snapshot, error) {
	n, err := s.snapshot(ctx)
	if err == nil {
		if err = n.found.Judge(s.schema); err != nil {
			err = errors.Join(err, n.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot of %s: %w", s.opts.Path, explain(err))
	}
	return n, nil
}

// Check is [Check] of the open file at one moment. It needs as much free space as a
// Snapshot and returns the same errors, except for damage, which it reports.
func (s *Store) Check(ctx context.Context) (r Report, err error) {
	n, err := s.snapshot(ctx)
	if err != nil {
		return r, fmt.Errorf("check %s: %w", s.opts.Path, explain(err))
	}
	r, err = report(ctx, n.found, n.f, s.schema)
	r.Bytes = n.size
	return r, errors.Join(err, n.Close())
}

// snapshot copies the file and reads the copy, damaged or not.
func (s *Store) snapshot(ctx context.Context) (_ *Snapshot, err error) {
	folder := filepath.Dir(s.opts.Path)
	size := fileSize(s.opts.Path)
	if free, known := files.FreeBytes(folder); known && free < uint64(size)+s.opts.MinFree {
		return nil, fmt.Errorf("%w: the copy takes %d MiB beside the file, and %d MiB are free, of which %d MiB are kept free: make room first",
			ErrDiskFull, size>>20, free>>20, s.opts.MinFree>>20)
	}
	from, err := os.Open(s.opts.Path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := os.CreateTemp(folder, filepath.Base(s.opts.Path)+leftoverSuffix+"*")
	if err != nil {
		return nil, err
	}
	n := &Snapshot{f: to, store: s, close: func() error { return errors.Join(to.Close(), os.Remove(to.Name())) }}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	c := &snapshotting{ctx: ctx, store: s, from: from, to: to}
	if err := c.run(); err != nil {
		return nil, err
	}
	n.size, n.at = int64(c.state.Pages())*int64(c.state.PageSize()), c.at
	return n, n.read(ctx, s.schema)
}

// SnapshotFile returns the snapshot of a file that no program has open. The file is
// locked until Close. Errors are those of [Check], and ErrCorrupt.
func SnapshotFile(path string, buckets []schema.Bucket) (n *Snapshot, err error) {
	sch, err := withOwn(buckets)
	if err != nil {
		return nil, err
	}
	f, err := lockShared(path)
	if err != nil {
		return nil, fmt.Errorf("snapshot of %s: %w", path, explain(err))
	}
	n = &Snapshot{f: f, at: time.Now(), close: f.Close}
	info, err := f.Stat()
	if err == nil {
		n.size = info.Size()
		if err = n.read(context.Background(), sch); err == nil {
			err = n.found.Judge(sch)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot of %s: %w", path, errors.Join(advise(path, explain(err)), n.Close()))
	}
	return n, nil
}

// read surveys the whole snapshot.
func (n *Snapshot) read(ctx context.Context, sch schema.Schema) (err error) {
	n.found, err = survey.ReadFrom(&givingWay{r: untilEnded{ctx, n.f}, store: n.store}, n.size) // mapped, it would be resident memory
	if ctx.Err() != nil {
		return context.Cause(ctx) // the pages that were not read are not damaged
	}
	if err != nil {
		return err
	}
	if err := n.found.Identify(sch); err != nil {
		return err
	}
	n.size = int64(n.found.File.Pages()) * int64(n.found.File.PageSize())
	return nil
}

// At returns the moment of the snapshot.
func (n *Snapshot) At() time.Time { return n.at }

// Size returns the number of bytes that WriteTo writes.
func (n *Snapshot) Size() int64 { return n.size }

// Records returns the number of records in a bucket, including its guards.
func (n *Snapshot) Records(bucket string) uint64 {
	if t := n.found.Buckets[bucket]; t != nil {
		return t.Rows
	}
	return 0
}

// Damaged returns the number of records that cannot be read.
func (n *Snapshot) Damaged() int { return len(n.found.Damaged) }

// WriteTo writes the data file. Unused pages are written as zeros, so no copy contains
// deleted data. It may be called again.
func (n *Snapshot) WriteTo(w io.Writer) (written int64, err error) {
	file, source := n.found.File, &givingWay{r: n.f, store: n.store}
	page := int64(file.PageSize())
	data := make([]byte, max(copyStep, 2*page))
	for at := int64(0); at < n.size; {
		part := data[:min(int64(len(data)), n.size-at)]
		if _, err := source.ReadAt(part, at); err != nil {
			return written, err
		}
		if at == 0 { // the head of a stopped file may name a list of free pages, which are zeros here
			if err := file.WriteHeads(inMemory(part)); err != nil {
				return written, err
			}
		}
		for from := int64(0); from < int64(len(part)); from += page {
			if !file.Holds(uint64((at + from) / page)) {
				clear(part[from:min(from+page, int64(len(part)))])
			}
		}
		m, err := w.Write(part)
		written += int64(m)
		if err != nil {
			return written, err
		}
		at += int64(len(part))
	}
	return written, nil
}

// VerifyCopy reads a copy of a data file that a Snapshot wrote, and verifies every page,
// the checksum of every record, and the contents of the buckets. Errors are those for
// which Open would refuse the file; damaged records, with which a program can run, are no
// error. Its memory does not grow with the copy but for one bit a page.
func VerifyCopy(r io.ReaderAt, size int64, buckets []schema.Bucket) error {
	sch, err := withOwn(buckets)
	if err != nil {
		return err
	}
	return verifyCopy(&givingWay{r: r}, size, sch)
}

// VerifyCopy is the function of that name, but leaves processor and disk to concurrent
// commits.
func (s *Store) VerifyCopy(r io.ReaderAt, size int64) error {
	return verifyCopy(&givingWay{r: r, store: s}, size, s.schema)
}

func verifyCopy(r io.ReaderAt, size int64, sch schema.Schema) error {
	found, err := survey.ReadFrom(r, size)
	if err == nil {
		err = found.Identify(sch)
	}
	if err == nil {
		err = found.Judge(sch)
	}
	return explain(err)
}

// Close removes the snapshot.
func (n *Snapshot) Close() error { return n.close() }

// snapshotting is a snapshot in progress.
type snapshotting struct {
	ctx      context.Context
	store    *Store
	from, to *os.File
	at       time.Time
	state    *pages.File // after the newest commit; the writer's
	written  pages.Comparison

	mu    sync.Mutex
	dirty pages.Set // pages that were written after they were copied
	err   error

	unsynced int
}

func (c *snapshotting) run() error {
	err := c.atRest(c.begin)
	if err != nil {
		return err
	}
	defer func() { _ = c.store.atRest(c.end) }() // a closed store commits nothing more
	all := c.take()
	for round := 0; round < copyRounds && all.Len() > copyFewPages; round++ {
		if err := c.copy(all, true); err != nil {
			return err
		}
		all = c.take()
	}
	if err := c.to.Sync(); err != nil {
		return err
	}
	c.add(all)
	return c.atRest(c.finish)
}

// atRest has the writer call fn while no commit is under way.
func (c *snapshotting) atRest(fn func() error) (err error) {
	if ended := c.store.atRest(func() { err = fn() }); ended != nil {
		return ended
	}
	return err
}

// begin has the writer report each commit from now on.
func (c *snapshotting) begin() (err error) {
	if c.store.snapshots != nil {
		return ErrSnapshotting
	}
	if c.state, err = c.current(); err != nil {
		return err
	}
	c.dirty.Add(0, int(c.state.Pages()))
	c.store.snapshots = c
	return nil
}

func (c *snapshotting) end() {
	if c.store.snapshots == c {
		c.store.snapshots = nil
	}
}

// current is the state after the newest commit.
func (c *snapshotting) current() (*pages.File, error) {
	info, err := c.from.Stat()
	if err != nil {
		return nil, err
	}
	return pages.Open(c.from, info.Size())
}

// committed is called by the writer after each commit.
func (c *snapshotting) committed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	now, err := c.current()
	if err == nil {
		err = c.written.Written(c.state, now, c.dirty.Add)
	}
	c.state, c.err = now, err
}

// take returns the pages that must be copied again.
func (c *snapshotting) take() (all pages.Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, c.dirty = c.dirty, pages.Set{}
	return all
}

// add puts pages back.
func (c *snapshotting) add(all pages.Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = all.Runs(1<<30, func(id uint64, n int) error {
		c.dirty.Add(id, n)
		return nil
	})
}

// finish copies the remaining pages and the heads while the writer rests.
func (c *snapshotting) finish() error {
	c.end()
	c.at = time.Now()
	if c.err != nil {
		return c.err
	}
	if c.store.failed.Load() {
		return ErrFailed
	}
	if err := c.copy(c.dirty, false); err != nil {
		return err
	}
	if err := c.state.WriteHeads(c.to); err != nil {
		return err
	}
	return c.to.Truncate(int64(c.state.Pages()) * int64(c.state.PageSize()))
}

func (c *snapshotting) copy(what pages.Set, sync bool) error {
	page := int64(c.store.db.Info().PageSize)
	data, source := make([]byte, max(copyStep, page)), &givingWay{r: c.from}
	if sync { // while the writer goes on
		source.store = c.store
	}
	return what.Runs(int(int64(len(data))/page), func(id uint64, n int) error {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		at, part := int64(id)*page, data[:int64(n)*page]
		if _, err := source.ReadAt(part, at); err != nil {
			return err
		}
		if _, err := c.to.WriteAt(part, at); err != nil {
			return err
		}
		if c.unsynced += len(part); !sync || c.unsynced < copySync {
			return nil
		}
		c.unsynced = 0
		return c.to.Sync()
	})
}
