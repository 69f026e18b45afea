package files

import (
	"context"
	"sync"
	"time"

	"postern/httpapi/rest"
)

// Limits of concurrent answers. A further one waits for placeWait.
const (
	maxAnswers      = 64
	maxAnswersOfOne = 16
	placeWait       = 5 * time.Second
)

// places bounds concurrent answers, in all and of one instance. Those who wait are woken
// at every change: they wait for seconds, and connections bound their number.
type places struct {
	most, ofOne int

	mu      sync.Mutex
	taken   int
	by      map[int64]int
	changed chan struct{} // closed when a place becomes free
}

func newPlaces(most, ofOne int) *places {
	return &places{most: most, ofOne: ofOne, by: map[int64]int{}, changed: make(chan struct{})}
}

// take waits for a place and returns a function that frees it.
func (p *places) take(ctx context.Context, instance int64) (leave func(), err error) {
	late := time.NewTimer(placeWait)
	defer late.Stop()
	for {
		changed, ok := p.try(instance)
		if ok {
			return func() { p.leave(instance) }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-late.C:
			return nil, rest.TryLater(placeWait, rest.CodeLimitReached, "too many files are being served: 64 at a time, 16 of one instance")
		}
	}
}

func (p *places) try(instance int64) (changed <-chan struct{}, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.most || p.by[instance] >= p.ofOne {
		return p.changed, false
	}
	p.taken++
	p.by[instance]++
	return nil, true
}

func (p *places) leave(instance int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.by[instance]--; p.by[instance] == 0 {
		delete(p.by, instance)
	}
	close(p.changed)
	p.changed = make(chan struct{})
}
