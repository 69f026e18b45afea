package dispatch

import (
	"maps"
	"slices"
	"sync"
)

// recentBytes bounds the bodies that are kept for senders.
const recentBytes = 8 << 20

// recent keeps the values read last, by number: they are sent within milliseconds, to
// maybe ten destinations, and need not be read from the file again. The oldest are
// removed first. Values that are not here are in the file.
type recent[T any] struct {
	mu    sync.Mutex
	all   map[uint64]kept[T]
	order []uint64 // in the order of arrival; some may be removed
	bytes int

	// For take: the newest number that was put, and those after it that were requested
	// before they were put.
	newest uint64
	early  map[uint64]bool
}

type kept[T any] struct {
	what  T
	bytes int
}

// since notes that the numbers up to newest were not put here.
func (r *recent[T]) since(newest uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest = newest
}

// put keeps a value of so many bytes. A value that take requested before is not kept: it
// may have changed since it was read, so only the file has it.
func (r *recent[T]) put(number uint64, what T, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[uint64]kept[T]{}
	}
	early := r.early[number]
	r.newest = max(r.newest, number)
	maps.DeleteFunc(r.early, func(n uint64, _ bool) bool { return n <= r.newest })
	if _, there := r.all[number]; there || early {
		return
	}
	r.all[number] = kept[T]{what, bytes}
	r.order = append(r.order, number)
	r.bytes += bytes
	for len(r.order) > 0 {
		oldest, there := r.all[r.order[0]]
		if there && r.bytes <= recentBytes {
			break
		}
		r.bytes -= oldest.bytes
		delete(r.all, r.order[0])
		r.order = r.order[1:]
	}
	if len(r.order) > 2*len(r.all)+fewGone { // many may be removed behind one that stays
		r.order = slices.DeleteFunc(r.order, func(n uint64) bool { _, there := r.all[n]; return !there })
	}
}

// fewGone bounds the removed numbers that stay in order.
const fewGone = 512

// get returns the value of a number.
func (r *recent[T]) get(number uint64) (what T, there bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, there := r.all[number]
	return k.what, there
}

// take is get for a single caller that requests each number once. Values are put in the
// order of their numbers.
func (r *recent[T]) take(number uint64) (what T, there bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, there := r.all[number]
	if !there && number > r.newest {
		if r.early == nil {
			r.early = map[uint64]bool{}
		}
		r.early[number] = true
	}
	r.bytes -= k.bytes
	delete(r.all, number)
	return k.what, there
}
