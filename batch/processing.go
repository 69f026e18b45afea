package batch

import (
	"errors"
	"fmt"
	"iter"

	"github.com/google/uuid"

	"postern/store"
)

// partSize is how many items one read transaction of Processing reads: long
// enough to cost little per item, short enough not to delay writers.
const partSize = 250

// Processing returns a batch, and its items with their attempts by position,
// part after part. Each part is a read transaction of its own that has ended
// before the caller gets it, so a slow caller is harmless: no page of the file
// is kept from reuse, and no more than a part is in memory.
//
// The batch is as it was when Processing was called, a part as it was when it
// was read. So while the batch is running, items may be further than its counts
// show, and later parts newer than earlier ones; but every item comes exactly
// once, and none is older than the batch. The sequence ends after its first
// error. Errors are ErrNotFound and those of the store.
func (s Shown) Processing(id uuid.UUID) (View, iter.Seq2[[]ItemWithAttempts, error], error) {
	e := s.e
	b, err := s.read(id)
	if err != nil {
		return View{}, nil, err
	}
	parts := func(yield func([]ItemWithAttempts, error) bool) {
		for from := 0; ; {
			part, err := s.part(b, from)
			if err != nil {
				yield(nil, fmt.Errorf("batch %s: items from %d: %w", id, from, err))
				return
			}
			if len(part) > 0 && !yield(part, nil) || len(part) < partSize {
				return
			}
			from = part[len(part)-1].Position + 1
		}
	}
	return b.view(e.states(b.spec), e.now()), parts, nil
}

// Processing is Shown.Processing by all instances.
func (e *Engine) Processing(owner, id uuid.UUID) (View, iter.Seq2[[]ItemWithAttempts, error], error) {
	return e.Shown(owner, nil).Processing(id)
}

// part reads the items from a position on. Of b only the header is read again, which
// holds the newest records of some items, unless a call changed the rest.
func (s Shown) part(b *full, from int) (part []ItemWithAttempts, err error) {
	err = s.e.cfg.Store.View(func(tx *store.Tx) error {
		now, err := b.again(tx)
		if errors.Is(err, errEdited) {
			var edited *full
			if edited, err = s.load(tx, b.id); err == nil {
				now = *edited
			}
		}
		if err != nil {
			return err
		}
		now.content = b.content
		r := now.itemRange()
		r.From, r.Limit = itemKey(b.id, from), partSize
		part = make([]ItemWithAttempts, 0, min(partSize, now.Counts.Total))
		return tx.Scan(bucketItem, r, func(key, value []byte) (bool, error) {
			item, err := now.itemWithAttempts(tx, key, value)
			part = append(part, item)
			return true, err
		})
	})
	return part, err
}

func (b *full) itemWithAttempts(tx *store.Tx, key, value []byte) (ItemWithAttempts, error) {
	position, r, err := b.readItem(key, value)
	if err != nil {
		return ItemWithAttempts{}, err
	}
	attempts, err := b.attempts(tx, position, r)
	if err != nil {
		return ItemWithAttempts{}, err
	}
	shown, err := b.item(tx, position, r)
	item := ItemWithAttempts{Item: shown, Attempts: make([]Attempt, len(attempts))}
	for i, a := range attempts {
		item.Attempts[i] = a.Value
	}
	return item, err
}
