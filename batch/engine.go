package batch

import (
	"context"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// Buckets declares what this package keeps in the data file.
func Buckets() []store.Bucket { return nil }

// Engine runs the batches. Its methods are safe for concurrent use.
type Engine struct{ cfg Config }

// New returns an engine that does nothing until Start.
func New(cfg Config) (*Engine, error) { return nil, nil }

// Start recovers what the last process left behind, then lets workers run.
func (e *Engine) Start(ctx context.Context) error { return nil }

// Stop brings every batch to a safe point and waits for the workers.
func (e *Engine) Stop(ctx context.Context) error { return nil }

// InstanceChanged tells that an instance has a new state. Never blocks.
func (e *Engine) InstanceChanged(id int64, s event.State) {}

// Create stores a batch.
func (e *Engine) Create(ctx context.Context, owner uuid.UUID, r CreateRequest) (View, error) {
	return View{}, nil
}

// Batch returns one batch.
func (e *Engine) Batch(owner, id uuid.UUID) (View, error) { return View{}, nil }

// Batches lists.
func (e *Engine) Batches(owner uuid.UUID, f Filter, p Page) (List[View], error) {
	return List[View]{}, nil
}

// Items lists.
func (e *Engine) Items(owner, id uuid.UUID, f ItemFilter, p Page) (List[Item], error) {
	return List[Item]{}, nil
}

// Item returns one item.
func (e *Engine) Item(owner, id, item uuid.UUID) (ItemWithAttempts, error) {
	return ItemWithAttempts{}, nil
}

// Attempts lists.
func (e *Engine) Attempts(owner, id uuid.UUID, f ItemFilter, p Page) (List[Attempt], error) {
	return List[Attempt]{}, nil
}

// StartBatch starts.
func (e *Engine) StartBatch(ctx context.Context, owner, id uuid.UUID) (View, error) {
	return View{}, nil
}

// Pause pauses.
func (e *Engine) Pause(ctx context.Context, owner, id uuid.UUID) (View, error) { return View{}, nil }

// StopBatch stops.
func (e *Engine) StopBatch(ctx context.Context, owner, id uuid.UUID) (View, error) {
	return View{}, nil
}
