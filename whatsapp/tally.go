package whatsapp

import (
	"maps"
	"sync"
)

// tally counts for Stats.
type tally struct {
	mu        sync.Mutex
	panics    uint64
	unhandled map[string]uint64
	mended    map[Recovery]uint64
	unread    map[UnreadableOutcome]uint64
	quiet     uint64
	floods    uint64
	stale     map[string]uint64
}

// skip counts an event type and reports whether it is the first of its kind.
func (t *tally) skip(kind string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unhandled == nil {
		t.unhandled = make(map[string]uint64)
	}
	t.unhandled[kind]++
	return t.unhandled[kind] == 1
}

func (t *tally) panicked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.panics++
}

func (t *tally) unreadable(o UnreadableOutcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unread == nil {
		t.unread = make(map[UnreadableOutcome]uint64)
	}
	t.unread[o]++
}

func (t *tally) recovered(r Recovery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mended == nil {
		t.mended = make(map[Recovery]uint64)
	}
	t.mended[r]++
}

func (t *tally) fellQuiet() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.quiet++
}

func (t *tally) flooded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.floods++
}

func (t *tally) missedDevices(chat string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stale == nil {
		t.stale = make(map[string]uint64)
	}
	t.stale[chat]++
}

func (t *tally) snapshot() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{
		Panics: t.panics, Unhandled: maps.Clone(t.unhandled),
		Unreadable: maps.Clone(t.unread), Recoveries: maps.Clone(t.mended), QuietReconnects: t.quiet, Floods: t.floods, StaleDevices: maps.Clone(t.stale),
	}
}
