package store

import (
	"context"
	"io"
	"runtime"
	"time"
)

// untilEnded reads until a context ends.
type untilEnded struct {
	ctx context.Context
	r   io.ReaderAt
}

// ReadAt implements [io.ReaderAt].
func (u untilEnded) ReadAt(p []byte, at int64) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.ReadAt(p, at)
}

// givingWay reads a file for a caller that is not urgent. It yields the processor every
// copyStep bytes, instead of when the runtime preempts it after ten milliseconds. While
// the store has commits, it also pauses for as long as it took to read and process
// giveWay bytes, which leaves processor and disk to others.
type givingWay struct {
	r     io.ReaderAt
	store *Store // nil: none

	read    int // since the last yield
	taken   int // since the last pause
	began   time.Time
	commits uint64
}

// ReadAt implements [io.ReaderAt].
func (g *givingWay) ReadAt(p []byte, at int64) (int, error) {
	if g.read += len(p); g.read >= copyStep {
		g.taken += g.read
		g.read = 0
		g.rest()
	}
	return g.r.ReadAt(p, at)
}

func (g *givingWay) rest() {
	if g.store == nil || g.taken < giveWay {
		runtime.Gosched()
		return
	}
	if commits := g.store.stats.commits.Load(); commits > g.commits && !g.began.IsZero() {
		g.store.watch.sleep(min(g.store.watch.now().Sub(g.began), giveWayMost))
	}
	g.taken, g.commits = 0, g.store.stats.commits.Load()
	g.began = g.store.watch.now()
}

const (
	giveWay     = 1 << 20
	giveWayMost = 100 * time.Millisecond // at a time; a slow reader of a backup takes longer
)

// watch is the clock of a long read: it measures time and pauses.
type watch struct {
	now   func() time.Time
	sleep func(time.Duration)
}

// inMemory is the beginning of a file.
type inMemory []byte

// WriteAt implements [io.WriterAt].
func (m inMemory) WriteAt(p []byte, at int64) (int, error) {
	if at < 0 || at > int64(len(m)-len(p)) {
		return 0, io.ErrShortBuffer
	}
	return copy(m[at:], p), nil
}
