package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// ErrCreating means that a large batch could not be created because others are being created.
var ErrCreating = errors.New("other large batches are being created; try again later")

const (
	// creators is how many large batches are created concurrently. Each takes some
	// megabytes and a part of every commit.
	creators = 1
	// maxCreations bounds how many others wait for that, of all users and of one.
	maxCreations        = 128
	maxCreationsOfOwner = 64
	// maxWaitingBytes bounds what the recipients of those that wait take.
	maxWaitingBytes = 256 << 20
	// creationWait limits the wait of one.
	creationWait = time.Minute
)

// creations lets large batches be created one after the other: users take turns,
// and the batches of one user come in their order. The zero value is ready.
type creations struct {
	mu      sync.Mutex
	busy    int
	owners  []uuid.UUID // that wait, whose turn is next first
	queues  map[uuid.UUID][]chan struct{}
	waiting int
	bytes   int // that the recipients of those that wait take
}

// enter waits for the turn of a batch whose recipients take so many bytes, which ends with a call of leave. Its
// error is ErrCreating, or the cause of ctx's end.
func (c *creations) enter(ctx context.Context, owner uuid.UUID, size int) (leave func(), err error) {
	c.mu.Lock()
	if c.busy < creators {
		c.busy++
		c.mu.Unlock()
		return c.leave, nil
	}
	if c.waiting >= maxCreations || len(c.queues[owner]) >= maxCreationsOfOwner || c.bytes+size > maxWaitingBytes {
		c.mu.Unlock()
		return nil, fmt.Errorf("%w: as many wait as may", ErrCreating)
	}
	turn := make(chan struct{})
	c.queue(owner, turn)
	c.bytes += size
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bytes -= size
	}()
	limit := time.NewTimer(creationWait)
	defer limit.Stop()
	select {
	case <-turn:
		return c.leave, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-limit.C:
		err = fmt.Errorf("%w: it waited %v for its turn", ErrCreating, creationWait)
	}
	if !c.withdraw(owner, turn) {
		c.leave() // the turn came meanwhile
	}
	return nil, err
}

// queue appends a batch to those of its owner. c.mu is held.
func (c *creations) queue(owner uuid.UUID, turn chan struct{}) {
	if c.queues == nil {
		c.queues = map[uuid.UUID][]chan struct{}{}
	}
	if len(c.queues[owner]) == 0 {
		c.owners = append(c.owners, owner)
	}
	c.queues[owner] = append(c.queues[owner], turn)
	c.waiting++
}

// leave passes the turn to the first batch of the next owner.
func (c *creations) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.owners) == 0 {
		c.busy--
		return
	}
	owner := c.owners[0]
	c.owners = c.owners[1:]
	turn := c.queues[owner][0]
	c.queues[owner] = c.queues[owner][1:]
	if c.waiting--; len(c.queues[owner]) > 0 {
		c.owners = append(c.owners, owner)
	} else {
		delete(c.queues, owner)
	}
	close(turn)
}

// withdraw removes a waiting batch.
func (c *creations) withdraw(owner uuid.UUID, turn chan struct{}) (waited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.queues[owner], turn)
	if at < 0 {
		return false
	}
	c.waiting--
	if c.queues[owner] = slices.Delete(c.queues[owner], at, at+1); len(c.queues[owner]) == 0 {
		delete(c.queues, owner)
		c.owners = slices.DeleteFunc(c.owners, func(o uuid.UUID) bool { return o == owner })
	}
	return true
}

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
