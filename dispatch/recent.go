package dispatch

import (
	"maps"
	"slices"
	"sync"
)

// recentBytes bounds the bodies that are kept for those who send.
const recentBytes = 8 << 20

// recent is what was read last, by number: it is sent within milliseconds, to ten
// destinations maybe, and need not be read from the file again. The oldest go
// first. What is not here is in the file.
type recent[T any] struct {
	mu    sync.Mutex
	all   map[uint64]kept[T]
	order []uint64 // as they came; some may be gone
	bytes int

	// Of take: the newest number that came, and those after it that were asked for
	// before they came.
	newest uint64
	early  map[uint64]bool
}

type kept[T any] struct {
	what  T
	bytes int
}

// since notes that what came before was not put here: numbers up to newest.
func (r *recent[T]) since(newest uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest = newest
}

// put keeps what has so many bytes. What take was asked for before is in the file
// only: it may have changed since it was read.
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
	if len(r.order) > 2*len(r.all)+fewGone { // behind one that stays, many went
		r.order = slices.DeleteFunc(r.order, func(n uint64) bool { _, there := r.all[n]; return !there })
	}
}

// fewGone is how many may be gone and have their place yet.
const fewGone = 512

// get returns what is kept under a number.
func (r *recent[T]) get(number uint64) (what T, there bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, there := r.all[number]
	return k.what, there
}

// take is get for one who alone asks for it, and once. What is put comes in the
// order of its numbers.
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
