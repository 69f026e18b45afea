package dispatch

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// throttleEvery is the time between two warnings with the same key.
	throttleEvery = time.Minute
	// throttleKeys bounds the keys that are remembered.
	throttleKeys = 10_000
)

// LogThrottle bounds warnings that could come by the thousand: while a receiver is down,
// each event for it is lost. The first loss is logged as a warning at once, and then one
// warning a minute gives the number of losses; the others are logged at level Debug. The
// zero value is ready to use. It is safe for concurrent use.
type LogThrottle struct {
	mu     sync.Mutex
	warned map[string]*warning
}

// warning is when a key was last warned of, and how often it occurred since.
type warning struct {
	at    time.Time
	since int
}

// Count notes an occurrence of key. It returns the level to log it with, Warn or Debug,
// and the number of occurrences since the last warning, including this one.
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

// add makes room for a key by removing keys without recent occurrences.
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
		return w // every occurrence is a warning until there is room
	}
	if t.warned == nil {
		t.warned = map[string]*warning{}
	}
	t.warned[key] = w
	return w
}
