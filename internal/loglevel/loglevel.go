// Package loglevel is the level of the log: the usual one, and for a while another
// that an operator asked for while the program runs.
package loglevel

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Level is a [slog.Leveler] that can be changed for a while.
type Level struct {
	is atomic.Int64

	mu    sync.Mutex
	usual slog.Level
	until time.Time // zero: it is the usual one
	back  *time.Timer
}

// New returns a level that is the usual one.
func New(usual slog.Level) *Level {
	l := &Level{usual: usual}
	l.is.Store(int64(usual))
	return l
}

// Level implements [slog.Leveler].
func (l *Level) Level() slog.Level { return slog.Level(l.is.Load()) }

// Change sets another level, which falls back to the usual one by itself.
func (l *Level) Change(to slog.Level, after time.Duration) State {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	l.is.Store(int64(to))
	l.until = time.Now().Add(after)
	var back *time.Timer
	back = time.AfterFunc(after, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.back == back { // unchanged meanwhile
			l.reset()
		}
	})
	l.back = back
	return l.state()
}

// SetUsual has another level be the usual one. A change for a while lasts its time.
func (l *Level) SetUsual(to slog.Level) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.usual = to
	if l.until.IsZero() {
		l.is.Store(int64(to))
	}
}

// Reset goes back to the usual level at once.
func (l *Level) Reset() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	l.reset()
	return l.state()
}

// State returns the level now.
func (l *Level) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state()
}

// State is a level, the usual one, and until when the first is not the second: zero
// when it is.
type State struct {
	Is, Usual slog.Level
	Until     time.Time
}

func (l *Level) state() State { return State{l.Level(), l.usual, l.until} }

func (l *Level) stop() {
	if l.back != nil {
		l.back.Stop()
	}
}

func (l *Level) reset() {
	l.is.Store(int64(l.usual))
	l.until, l.back = time.Time{}, nil
}
