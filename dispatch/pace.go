package dispatch

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// paceEvery is the time between two warnings about the same thing.
	paceEvery = time.Minute
	// paceKeys bounds the things that are remembered.
	paceKeys = 10_000
)

// Pace keeps warnings that may come by the thousand few: while a receiver is
// down, each event for it is lost. The first loss is a warning at once, and
// then one a minute that tells how many there were; the others are details. The
// zero value is ready, and safe for concurrent use.
type Pace struct {
	mu     sync.Mutex
	warned map[string]*warning
}

// warning is when a thing was last warned of, and how often it happened since.
type warning struct {
	at    time.Time
	since int
}

// Count notes that key happened, and returns the level to log it with, Warn or
// Debug, and how often it happened since the last warning, this time included.
func (p *Pace) Count(key string) (level slog.Level, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	w := p.warned[key]
	if w == nil {
		w = p.add(key, now)
	}
	w.since++
	if times = w.since; now.Sub(w.at) < paceEvery {
		return slog.LevelDebug, times
	}
	w.at, w.since = now, 0
	return slog.LevelWarn, times
}

// add makes room for a key by forgetting those that nothing happened to.
func (p *Pace) add(key string, now time.Time) *warning {
	if len(p.warned) >= paceKeys {
		for k, w := range p.warned {
			if now.Sub(w.at) >= paceEvery {
				delete(p.warned, k)
			}
		}
	}
	w := &warning{}
	if len(p.warned) >= paceKeys {
		return w // warned of each time, until there is room
	}
	if p.warned == nil {
		p.warned = map[string]*warning{}
	}
	p.warned[key] = w
	return w
}
