package pull

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/delivery/stream"
	"postern/event"
	"postern/store"
)

// All is the place of an instance for the consumers of the events of all instances and batches.
const All int64 = 0

// Item is one event.
type Item struct {
	Sequence  uint64
	ID        uuid.UUID
	Kind      event.Kind
	CreatedAt time.Time
	Body      []byte // nil: it went with its instance or batch, and is passed over
}

// newestOf returns the number of the newest event of an instance, or of all, 0 if there never was one.
func newestOf(tx *store.Tx, instance int64) (uint64, error) {
	if instance == All {
		return stream.Newest(tx)
	}
	return delivery.NewestOf(tx, instance)
}

// eachAfter calls fn with the events after a number that are kept, until it returns false.
func (c *Consumers) eachAfter(tx *store.Tx, instance int64, number uint64, fn func(Item) bool) error {
	if instance != All {
		return delivery.EachAfter(tx, instance, number, func(e delivery.Event) bool {
			item := Item{e.Sequence, e.ID, e.Kind, e.CreatedAt, e.Body}
			if e.Erased() {
				item.Body = nil
			}
			return fn(item)
		})
	}
	return stream.After(tx, number, func(r stream.Row) (bool, error) {
		item, kept, err := c.itemOf(tx, r)
		if err != nil || !kept {
			return true, err
		}
		return fn(item), nil
	})
}

// itemOf returns the event of a row of the stream; kept is false when it has expired.
func (c *Consumers) itemOf(tx *store.Tx, r stream.Row) (item Item, kept bool, err error) {
	if r.Outbox != 0 {
		e, found, err := outbox.Get(tx, r.Outbox)
		switch {
		case errors.Is(err, store.ErrDamaged):
			return item, false, nil
		case err == nil && !found:
			item.Sequence = r.Number
			found, err = outbox.Forgot(tx, r.Owner, r.OwnerSeq)
			return item, found, err
		}
		return Item{r.Number, delivery.BatchEventID(e), e.Kind, e.CreatedAt, e.Body}, found, err
	}
	item = Item{r.Number, r.ID, r.Kind, r.CreatedAt, r.Body}
	if len(r.Body) == 0 || c.there(tx, r.Instance) != nil {
		item.Body = nil
	}
	return item, tx.Steady().Before(r.ExpiresAt), nil
}

// oldestOf returns the number of the oldest event that is kept, 0 if there is none.
func (c *Consumers) oldestOf(tx *store.Tx, instance int64) (uint64, error) {
	oldest, _, err := c.next(tx, instance, 0)
	return oldest.Sequence, err
}

// How often expired events leave the stream, every how many times what stayed is looked at again, and how many
// rows one step looks at.
const (
	trimEvery = time.Minute
	trimWhole = 60
	trimStep  = 1000
)

// Start begins to remove expired events from the stream of all events, and to note losses that found no room.
func (c *Consumers) Start() {
	c.work.Go(func() {
		for n := 0; c.life.Err() == nil; n++ {
			if n%trimWhole == 0 {
				c.trimmed = 0
			}
			c.tell("old events were not removed from the stream, trying again", c.trim())
			c.noteAll()
			select {
			case <-time.After(trimEvery):
			case <-c.gone:
				c.tell("events of a deleted instance were not removed from the stream", c.clear())
				c.tidy()
			case <-c.life.Done():
			}
		}
	})
}

// Stop ends what Start began. No more losses may come.
func (c *Consumers) Stop() {
	c.end()
	c.work.Wait()
	c.noteAll()
}

func (c *Consumers) tell(what string, err error) {
	if err != nil && c.life.Err() == nil {
		c.log.Warn(what, "error", err)
	}
}

// trim removes the rows of expired events, in small steps. It begins after those that it looked at before: events
// of instances end in the order of their numbers.
func (c *Consumers) trim() error {
	for c.life.Err() == nil {
		s := sweep{c: c}
		if err := c.store.View(func(tx *store.Tx) error { return s.run(tx, c.trimmed) }); err != nil {
			return err
		}
		if len(s.over) > 0 {
			if err := c.store.Update(c.life, func(tx *store.Tx) error { return stream.Remove(tx, s.over) }); err != nil {
				return err
			}
		}
		c.trimmed = s.last
		if !s.more {
			return nil
		}
	}
	return nil
}

// sweep is one step of trim.
type sweep struct {
	c      *Consumers
	over   []uint64 // rows to remove
	passed []uint64 // rows before the next one that are passed over; they go with it
	last   uint64   // the row that was looked at last
	more   bool
}

// run looks at the rows after a number, up to the first event of an instance that is not over.
func (s *sweep) run(tx *store.Tx, after uint64) error {
	looked := 0
	s.last = after
	return stream.After(tx, after, func(r stream.Row) (bool, error) {
		if s.more = looked == trimStep; s.more {
			return false, nil
		}
		looked++
		if r.Outbox == 0 && tx.Steady().Before(r.ExpiresAt) {
			return false, nil
		}
		s.last = r.Number
		return true, s.row(tx, r)
	})
}

func (s *sweep) row(tx *store.Tx, r stream.Row) error {
	if r.Outbox != 0 {
		if outbox.Has(tx, r.Outbox) {
			s.passed = nil
			return nil
		}
		forgot, err := outbox.Forgot(tx, r.Owner, r.OwnerSeq)
		if forgot || err != nil { // a consumer before it misses nothing as long as the next one is there
			s.passed = append(s.passed, r.Number)
			return err
		}
	}
	s.over = append(append(s.over, s.passed...), r.Number)
	s.passed = nil
	return nil
}

// clear removes the bodies of events of deleted instances, in small steps.
func (c *Consumers) clear() error {
	for after, more := uint64(0), true; more && c.life.Err() == nil; {
		var bare []uint64
		looked := 0
		err := c.store.View(func(tx *store.Tx) error {
			return stream.After(tx, after, func(r stream.Row) (bool, error) {
				if r.Outbox == 0 && len(r.Body) > 0 && c.there(tx, r.Instance) != nil {
					bare = append(bare, r.Number)
				}
				looked, after = looked+1, r.Number
				return looked < trimStep, nil
			})
		})
		if err == nil && len(bare) > 0 {
			err = c.store.Update(c.life, func(tx *store.Tx) error { return stream.Clear(tx, bare) })
		}
		if err != nil {
			return err
		}
		more = looked == trimStep
	}
	return nil
}

// tidy forgets what is in memory of deleted instances.
func (c *Consumers) tidy() {
	c.mu.Lock()
	keys := slices.Collect(maps.Keys(c.pulled))
	c.mu.Unlock()
	var gone []string
	c.tell("deleted instances could not be looked up", c.store.View(func(tx *store.Tx) error {
		gone = nil
		for _, key := range keys {
			if c.exists(tx, instanceOf([]byte(key))) != nil {
				gone = append(gone, key)
			}
		}
		return nil
	}))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range gone {
		delete(c.pulled, key)
	}
}

// Deleted is called after the commit that deleted an instance.
func (c *Consumers) Deleted() {
	select {
	case c.gone <- struct{}{}:
	default:
	}
}
