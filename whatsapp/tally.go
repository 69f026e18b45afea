package whatsapp

import (
	"maps"
	"sync"
	"sync/atomic"
)

// tally counts for Stats.
type tally struct {
	panics, quiet, floods atomic.Uint64

	mu        sync.Mutex // of the maps
	unhandled map[string]uint64
	mended    map[Recovery]uint64
	unread    map[UnreadableOutcome]uint64
	stale     map[string]uint64
}

// count adds one to the number of a key in one of t's maps, and returns the sum.
func count[K comparable](t *tally, numbers *map[K]uint64, key K) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *numbers == nil {
		*numbers = make(map[K]uint64)
	}
	(*numbers)[key]++
	return (*numbers)[key]
}

// skip counts an event type and reports whether it is the first of its kind.
func (t *tally) skip(kind string) bool { return count(t, &t.unhandled, kind) == 1 }

func (t *tally) unreadable(o UnreadableOutcome) { count(t, &t.unread, o) }
func (t *tally) recovered(r Recovery)           { count(t, &t.mended, r) }
func (t *tally) missedDevices(chat string)      { count(t, &t.stale, chat) }

func (t *tally) snapshot() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{
		Panics: t.panics.Load(), Unhandled: maps.Clone(t.unhandled),
		Unreadable: maps.Clone(t.unread), Recoveries: maps.Clone(t.mended), QuietReconnects: t.quiet.Load(), Floods: t.floods.Load(), StaleDevices: maps.Clone(t.stale),
	}
}
