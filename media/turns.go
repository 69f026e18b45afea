package media

import (
	"context"
	"slices"
	"sync"
)

// turns shares a few places among instances. Each instance has at most one place; of
// those waiting, the one whose last turn is longest ago is next. So an instance waits for
// at most one file of each other waiting instance.
type turns struct {
	mu      sync.Mutex
	places  int            // free places
	busy    map[int64]bool // instances that have a place
	waiting map[int64][]chan struct{}
	order   []int64 // waiting instances, next first
}

func newTurns(places int) *turns {
	return &turns{places: places, busy: map[int64]bool{}, waiting: map[int64][]chan struct{}{}}
}

// take waits for the turn of an instance and returns a function that ends it. If ctx ends
// first the error wraps event.ErrMedia.
func (t *turns) take(ctx context.Context, instance int64) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, late(ctx)
	}
	granted := t.join(instance)
	leave = func() { t.leave(instance) }
	select {
	case <-granted:
		return leave, nil
	case <-ctx.Done():
		if !t.giveUp(instance, granted) {
			leave() // granted concurrently
		}
		return nil, late(ctx)
	}
}

func (t *turns) join(instance int64) (granted chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	granted = make(chan struct{})
	if len(t.waiting[instance]) == 0 {
		t.order = append(t.order, instance)
	}
	t.waiting[instance] = append(t.waiting[instance], granted)
	t.grant()
	return granted
}

// leave frees a place. The instance goes to the end of the order.
func (t *turns) leave(instance int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.busy, instance)
	t.places++
	if at := slices.Index(t.order, instance); at >= 0 {
		t.order = append(slices.Delete(t.order, at, at+1), instance)
	}
	t.grant()
}

// grant gives free places to waiting instances.
func (t *turns) grant() {
	for t.places > 0 {
		at := slices.IndexFunc(t.order, func(instance int64) bool { return !t.busy[instance] })
		if at < 0 {
			return
		}
		instance := t.order[at]
		next := t.waiting[instance][0]
		t.remove(instance, next)
		t.busy[instance] = true
		t.places--
		close(next)
	}
}

// giveUp removes a waiting instance, and returns false if it has a place.
func (t *turns) giveUp(instance int64, granted chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.waiting[instance], granted) {
		return false
	}
	t.remove(instance, granted)
	return true
}

func (t *turns) remove(instance int64, who chan struct{}) {
	t.waiting[instance] = slices.DeleteFunc(t.waiting[instance], func(c chan struct{}) bool { return c == who })
	if len(t.waiting[instance]) == 0 {
		delete(t.waiting, instance)
		t.order = slices.DeleteFunc(t.order, func(i int64) bool { return i == instance })
	}
}
