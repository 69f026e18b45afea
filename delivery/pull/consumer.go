package pull

import (
	"context"
	"errors"
	"slices"
	"time"

	"postern/event"
	"postern/store"
)

// State is a consumer.
type State struct {
	Name          string
	Position      uint64
	Lag           uint64 // events after it
	OldestWaiting time.Time
	LastPull      time.Time
	LastAck       time.Time
}

// Ack moves a consumer's position forward, never back. Errors: ErrNotFound, ErrAhead.
func (c *Consumers) Ack(ctx context.Context, instance int64, name string, sequence uint64) (State, error) {
	return c.move(ctx, instance, name, func(tx *store.Tx, rec *record, newest uint64) error {
		if sequence > newest {
			return ErrAhead
		}
		if sequence >= rec.Position {
			rec.Position, rec.Acked = sequence, event.At(tx.Now())
		}
		return nil
	})
}

// Seek moves a consumer's position anywhere; 0 is before the oldest event. Errors: ErrNotFound, ErrAhead.
func (c *Consumers) Seek(ctx context.Context, instance int64, name string, sequence uint64) (State, error) {
	return c.move(ctx, instance, name, func(tx *store.Tx, rec *record, newest uint64) (err error) {
		if sequence > newest {
			return ErrAhead
		}
		if sequence == 0 {
			if sequence, err = c.beforeOldest(tx, instance, newest); err != nil {
				return err
			}
		}
		return rec.seek(tx, instance, sequence)
	})
}

// seek moves the position. Losses that the consumer has reached before or passes now are not reported again.
func (r *record) seek(tx *store.Tx, instance int64, to uint64) error {
	tx.Wake() // a pull may wait
	passed, err := lost(tx, instance, max(r.Position, to))
	r.Position, r.Passed = to, max(r.Passed, passed)
	return err
}

func (c *Consumers) beforeOldest(tx *store.Tx, instance int64, newest uint64) (uint64, error) {
	oldest, err := c.oldestOf(tx, instance)
	if err != nil || oldest == 0 {
		return newest, err
	}
	return oldest - 1, nil
}

// SeekTime moves a consumer before the first event that was made at a time or later. The error is ErrNotFound.
func (c *Consumers) SeekTime(ctx context.Context, instance int64, name string, at time.Time) (State, error) {
	var before uint64
	err := c.store.View(func(tx *store.Tx) (err error) {
		before, err = c.beforeTime(tx, instance, at)
		return err
	})
	if err != nil {
		return State{}, err
	}
	return c.move(ctx, instance, name, func(tx *store.Tx, rec *record, newest uint64) error {
		next, found, err := c.next(tx, instance, before)
		if err != nil {
			return err
		}
		to := newest
		if found {
			to = next.Sequence - 1 // behind events that are not kept
		}
		return rec.seek(tx, instance, to)
	})
}

// beforeTime returns the number after which all events were made at a time or later. Times ascend with the numbers,
// but an event that went with its batch has none. An event is looked at once at most.
func (c *Consumers) beforeTime(tx *store.Tx, instance int64, at time.Time) (uint64, error) {
	high, err := newestOf(tx, instance)
	if err != nil {
		return 0, err
	}
	low, err := c.beforeOldest(tx, instance, high)
	for low < high && err == nil { // what was made before at is up to high, what was not is after low
		middle, earlier := low+(high-low)/2, false
		err = c.eachAfter(tx, instance, middle, func(i Item) bool {
			switch {
			case i.Sequence > high:
				return false
			case i.CreatedAt.IsZero():
				return true
			}
			if earlier = i.CreatedAt.Before(at); earlier {
				low = i.Sequence
			}
			return false
		})
		if !earlier {
			high = middle
		}
	}
	return low, err
}

// next returns the first event after a number that is kept.
func (c *Consumers) next(tx *store.Tx, instance int64, number uint64) (next Item, found bool, err error) {
	err = c.eachAfter(tx, instance, number, func(i Item) bool {
		next, found = i, true
		return false
	})
	return next, found, err
}

// move changes a consumer in a commit.
func (c *Consumers) move(ctx context.Context, instance int64, name string, change func(*store.Tx, *record, uint64) error) (s State, err error) {
	err = c.store.Update(ctx, func(tx *store.Tx) error {
		rec, err := find(tx, instance, name)
		if err != nil {
			return err
		}
		newest, err := newestOf(tx, instance)
		if err != nil {
			return err
		}
		before := rec
		if err := change(tx, &rec, newest); err != nil {
			return err
		}
		if s, err = c.stateOf(tx, instance, name, rec, newest); err != nil || rec == before {
			return err
		}
		if at := c.lastPull(instance, name); !at.IsZero() {
			rec.Pulled = event.At(at)
		}
		return put(tx, instance, name, rec)
	})
	return s, err
}

func (c *Consumers) lastPull(instance int64, name string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pulled[string(consumerKey(instance, name))]
}

// stateOf returns a consumer as it is shown.
func (c *Consumers) stateOf(tx *store.Tx, instance int64, name string, rec record, newest uint64) (State, error) {
	s := State{Name: name, Position: rec.Position, LastPull: rec.Pulled.Time, LastAck: rec.Acked.Time}
	if at := c.lastPull(instance, name); at.After(s.LastPull) {
		s.LastPull = at
	}
	if newest > rec.Position {
		s.Lag = newest - rec.Position
	}
	looked := 0
	err := c.eachAfter(tx, instance, rec.Position, func(i Item) bool {
		s.OldestWaiting = i.CreatedAt // zero: it went with its batch
		looked++
		return i.CreatedAt.IsZero() && looked < maxLooked
	})
	return s, err
}

// List returns the consumers of an instance by name.
func (c *Consumers) List(instance int64) (all []State, err error) {
	err = c.store.View(func(tx *store.Tx) error {
		newest, err := newestOf(tx, instance)
		if err != nil {
			return err
		}
		var names []string
		err = tx.Walk(consumers, store.Range{Prefix: store.Key(instance)}, func(k []byte) (bool, error) {
			names = append(names, string(k[8:]))
			return true, nil
		})
		for _, name := range names {
			rec, errFind := find(tx, instance, name)
			if errors.Is(errFind, store.ErrDamaged) {
				continue
			}
			s, errState := c.stateOf(tx, instance, name, rec, newest)
			if err = errors.Join(err, errFind, errState); err != nil {
				return err
			}
			all = append(all, s)
		}
		return err
	})
	return all, err
}

// Owned is a consumer with its instance, 0: of all events.
type Owned struct {
	State
	Instance int64
}

// All returns the consumers of an instance or, if one is not set, of all.
func (c *Consumers) All(one bool, instance int64) (all []Owned, err error) {
	owners := []int64{instance}
	if !one {
		owners = nil
		err = c.store.View(func(tx *store.Tx) error {
			return tx.Walk(consumers, store.Range{}, func(k []byte) (bool, error) {
				if id := instanceOf(k); !slices.Contains(owners, id) {
					owners = append(owners, id)
				}
				return true, nil
			})
		})
	}
	for _, id := range owners {
		some, errList := c.List(id)
		if err = errors.Join(err, errList); err != nil {
			return all, err
		}
		for _, s := range some {
			all = append(all, Owned{s, id})
		}
	}
	return all, err
}

// Delete removes a consumer. The error is ErrNotFound.
func (c *Consumers) Delete(ctx context.Context, instance int64, name string) error {
	err := c.store.Update(ctx, func(tx *store.Tx) error {
		if _, err := find(tx, instance, name); err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		tx.Wake()
		return tx.Delete(consumers, consumerKey(instance, name))
	})
	if err == nil {
		c.mu.Lock()
		delete(c.pulled, string(consumerKey(instance, name)))
		c.mu.Unlock()
	}
	return err
}
