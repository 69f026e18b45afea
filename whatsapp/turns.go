package whatsapp

import (
	"container/list"
	"context"
	"sync"

	"postern/event"
)

// turns serializes the sends of a session. Unlike the library's lock, it lets a waiter
// give up, and is fair: each kind of sender is served in the order of arrival, and the
// kinds alternate, so that hundreds of batches do not delay a request, or the other way
// round. The zero value is ready to use.
type turns struct {
	mu      sync.Mutex
	taken   bool
	waiting [event.Senders]list.List // of chan struct{}, closed when the turn comes
	last    event.Sender             // the kind of the last turn
}

// free takes the turn if it is free. pass ends it.
func (t *turns) free(by event.Sender) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.freeLocked(by)
}

// freeLocked is free. The caller holds t.mu.
func (t *turns) freeLocked(by event.Sender) bool {
	if t.taken {
		return false
	}
	t.taken, t.last = true, by
	return true
}

// take waits for the turn, which pass ends. It returns the cause of ctx's end if that
// comes first.
func (t *turns) take(ctx context.Context, by event.Sender) error {
	t.mu.Lock()
	if t.freeLocked(by) {
		t.mu.Unlock()
		return nil
	}
	come := make(chan struct{})
	place := t.waiting[by].PushBack(come)
	t.mu.Unlock()
	select {
	case <-come:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-come: // in the same moment
		t.passOn()
	default:
		t.waiting[by].Remove(place)
	}
	return context.Cause(ctx)
}

// pass ends a turn.
func (t *turns) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passOn()
}

// passOn gives the turn to the next waiting kind of sender. The caller holds t.mu.
func (t *turns) passOn() {
	for n := range event.Senders {
		by := (t.last + 1 + n) % event.Senders
		if first := t.waiting[by].Front(); first != nil {
			t.last = by
			come, _ := t.waiting[by].Remove(first).(chan struct{})
			close(come)
			return
		}
	}
	t.taken = false
}
