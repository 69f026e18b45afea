package media

import (
	"context"
	"slices"
	"sync"
)

// turns shares a few places among instances: each has one place at most, and
// of those that wait the one comes first whose last turn is longest ago. So an
// instance waits for no more than one file of each other that waits, however
// many those have.
type turns struct {
	mu      sync.Mutex
	places  int            // that are free
	busy    map[int64]bool // the instances that have a place
	waiting map[int64][]chan struct{}
	order   []int64 // the instances that wait, the next first
}

func newTurns(places int) *turns {
	return &turns{places: places, busy: map[int64]bool{}, waiting: map[int64][]chan struct{}{}}
}

// take waits for the turn of an instance, and returns how to end it. The error
// wraps event.ErrMedia: ctx ended first.
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
			leave() // it was granted meanwhile
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

// leave frees a place. Everybody else comes before the instance that had it.
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

// grant gives free places to those who wait.
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

// giveUp takes somebody off the list, and is false for one who has a place.
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
