package batch

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// ErrTooManyOpen means that the user has as many unfinished batches as Config.MaxOpen
// allows.
var ErrTooManyOpen = errors.New("too many unfinished batches")

// openBatches are the unfinished batches by their owners, as the file has them
// and those that are being created. The zero value is ready.
type openBatches struct {
	mu      sync.Mutex
	byOwner map[uuid.UUID]map[uuid.UUID]struct{}
}

// add counts an unfinished batch, unless its owner has reached the limit; 0
// means no limit.
func (o *openBatches) add(owner, id uuid.UUID, most int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if most > 0 && len(o.byOwner[owner]) >= most {
		return fmt.Errorf("%w: message.batch.max_open is %d for one user; wait until some have ended, or stop them", ErrTooManyOpen, most)
	}
	if o.byOwner == nil {
		o.byOwner = map[uuid.UUID]map[uuid.UUID]struct{}{}
	}
	if o.byOwner[owner] == nil {
		o.byOwner[owner] = map[uuid.UUID]struct{}{}
	}
	o.byOwner[owner][id] = struct{}{}
	return nil
}

// drop removes a batch that is final, or was not created. It is idempotent.
func (o *openBatches) drop(owner, id uuid.UUID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byOwner[owner], id)
	if len(o.byOwner[owner]) == 0 {
		delete(o.byOwner, owner)
	}
}
