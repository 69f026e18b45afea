package pull

import (
	"errors"
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
	Body      []byte // nil: it went with its instance, and is passed over
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
			return fn(Item{e.Sequence, e.ID, e.Kind, e.CreatedAt, e.Body})
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

// itemOf returns the event of a row of the stream; kept is false when it is over.
func (c *Consumers) itemOf(tx *store.Tx, r stream.Row) (item Item, kept bool, err error) {
	if r.Outbox != 0 {
		e, found, err := outbox.Get(tx, r.Outbox)
		if errors.Is(err, store.ErrDamaged) {
			return item, false, nil
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

// How often events that are over leave the stream, and how many rows one commit looks at.
const (
	trimEvery = time.Minute
	trimStep  = 1000
)

// Start begins to remove what is over from the stream of all events.
func (c *Consumers) Start() {
	c.work.Go(func() {
		for c.life.Err() == nil {
			if err := c.trim(); err != nil && c.life.Err() == nil {
				c.log.Warn("old events were not removed from the stream, trying again", "error", err)
			}
			select {
			case <-time.After(trimEvery):
			case <-c.gone:
				c.clear()
			case <-c.life.Done():
			}
		}
	})
}

// Stop ends what Start began.
func (c *Consumers) Stop() {
	c.end()
	c.work.Wait()
}

// trim removes the events that are over, in small commits.
func (c *Consumers) trim() error {
	for more := true; more && c.life.Err() == nil; {
		some := false
		err := c.store.View(func(tx *store.Tx) error { // a commit only where there is something to do
			return stream.After(tx, 0, func(r stream.Row) (bool, error) {
				over, err := c.over(tx, r)
				some = over
				return false, err
			})
		})
		if err != nil || !some {
			return err
		}
		err = c.store.Update(c.life, func(tx *store.Tx) (err error) {
			more, err = stream.Trim(tx, trimStep, func(r stream.Row) (bool, error) { return c.over(tx, r) })
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Consumers) over(tx *store.Tx, r stream.Row) (bool, error) {
	if r.Outbox != 0 {
		return !outbox.Has(tx, r.Outbox), nil
	}
	return !tx.Steady().Before(r.ExpiresAt), nil
}

// clear removes the bodies of events of deleted instances, in small commits.
func (c *Consumers) clear() {
	for after := uint64(0); c.life.Err() == nil; {
		err := c.store.Update(c.life, func(tx *store.Tx) (err error) {
			after, err = stream.Clear(tx, after, trimStep, func(id int64) bool { return c.there(tx, id) != nil })
			return err
		})
		if err != nil && c.life.Err() == nil {
			c.log.Warn("events of a deleted instance were not removed from the stream", "error", err)
		}
		if err != nil || after == 0 {
			return
		}
	}
}

// Deleted is called after the commit that deleted an instance.
func (c *Consumers) Deleted() {
	select {
	case c.gone <- struct{}{}:
	default:
	}
}
