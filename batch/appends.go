package batch

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// appends lets one append at a time, or the removal of what one left behind, write behind the
// items of a batch. The zero value is ready.
type appends struct {
	mu   sync.Mutex
	busy map[uuid.UUID]chan struct{} // closed when the one at work ends
}

// enter waits for the turn, which ends with a call of release. Its error is the cause of
// ctx's end.
func (a *appends) enter(ctx context.Context, id uuid.UUID) (release func(), err error) {
	for {
		a.mu.Lock()
		other := a.busy[id]
		if other == nil {
			break
		}
		a.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer a.mu.Unlock()
	if a.busy == nil {
		a.busy = map[uuid.UUID]chan struct{}{}
	}
	done := make(chan struct{})
	a.busy[id] = done
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.busy, id)
		close(done)
	}, nil
}
