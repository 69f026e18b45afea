package dispatch

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// throttleEvery is the time between two warnings about the same thing.
	throttleEvery = time.Minute
	// throttleKeys bounds the things that are remembered.
	throttleKeys = 10_000
)

// LogThrottle bounds warnings that could come by the thousand: while a receiver
// is down, each event for it is lost. The first loss is a warning at once, and
// then one a minute tells how many there were; the others are logged as details.
// The zero value is ready, and safe for concurrent use.
type LogThrottle struct {
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
func (t *LogThrottle) Count(key string) (level slog.Level, times int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	w := t.warned[key]
	if w == nil {
		w = t.add(key, now)
	}
	w.since++
	if times = w.since; now.Sub(w.at) < throttleEvery {
		return slog.LevelDebug, times
	}
	w.at, w.since = now, 0
	return slog.LevelWarn, times
}

// add makes room for a key by forgetting those that nothing happened to.
func (t *LogThrottle) add(key string, now time.Time) *warning {
	if len(t.warned) >= throttleKeys {
		for k, w := range t.warned {
			if now.Sub(w.at) >= throttleEvery {
				delete(t.warned, k)
			}
		}
	}
	w := &warning{}
	if len(t.warned) >= throttleKeys {
		return w // warned of each time, until there is room
	}
	if t.warned == nil {
		t.warned = map[string]*warning{}
	}
	t.warned[key] = w
	return w
}
