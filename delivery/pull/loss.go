package pull

import (
	"context"
	"maps"
	"slices"

	"postern/store"
)

// NoteLost notes in a commit that n events of an instance that should have been stored are delivered from memory: the
// commit of their cause, so that no crash hides the loss.
func (c *Consumers) NoteLost(tx *store.Tx, instance int64, n int) error {
	tx.Wake()
	return c.addLoss(tx, instance, uint64(n)) //nolint:gosec // not negative
}

// Lost is NoteLost for an event that has no cause in the file. The note is in the file before Lost returns or, if the
// disk has no room for it, before a later pull of the instance is answered and at the latest a minute after there is
// room, or when the program stops. A kill before that hides the loss.
func (c *Consumers) Lost(instance int64) {
	c.mu.Lock()
	c.unnoted[instance]++
	c.mu.Unlock()
	c.note(instance)
}

// noteAll writes the losses that are not in the file yet.
func (c *Consumers) noteAll() {
	c.mu.Lock()
	all := slices.Collect(maps.Keys(c.unnoted))
	c.mu.Unlock()
	for _, instance := range all {
		c.note(instance)
	}
}

// note writes the losses of an instance that are not in the file yet.
func (c *Consumers) note(instance int64) {
	c.mu.Lock()
	n := c.unnoted[instance]
	delete(c.unnoted, instance)
	c.mu.Unlock()
	if n == 0 {
		return
	}
	err := c.store.Update(context.Background(), func(tx *store.Tx) error {
		if c.exists(tx, instance) != nil {
			return nil
		}
		return c.NoteLost(tx, instance, int(n)) //nolint:gosec // of this process
	})
	if err != nil {
		c.log.Warn("events that were not stored could not be noted for consumers, trying again", "instance_id", instance, "count", n, "error", err)
		c.mu.Lock()
		c.unnoted[instance] += n
		c.mu.Unlock()
	}
}
