package batch

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/event"
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
	return b.view(e.states(b.spec), e.now()), parts(s, b, (*full).itemWithAttempts), nil
}

// Rows returns the names of the variables of a batch, sorted, and its items by position, in parts as those of
// [Shown.Processing].
func (s Shown) Rows(id uuid.UUID) (variables []string, items iter.Seq2[[]Row, error], err error) {
	b, err := s.read(id)
	if err != nil {
		return nil, nil, err
	}
	return slices.Sorted(slices.Values(b.message.Variables)), parts(s, b, (*full).readRow), nil
}

// Sent returns what was sent of each item of a batch by position, in parts as those of [Shown.Processing].
func (s Shown) Sent(id uuid.UUID) (iter.Seq2[[]Sent, error], error) {
	b, err := s.read(id)
	if err != nil {
		return nil, err
	}
	return parts(s, b, (*full).readSent), nil
}

// Processing is Shown.Processing by all instances.
func (e *Engine) Processing(owner, id uuid.UUID) (View, iter.Seq2[[]ItemWithAttempts, error], error) {
	return e.Shown(owner, nil).Processing(id)
}

// parts returns what read makes of the items of b.
func parts[T any](s Shown, b *full, read func(b *full, tx *store.Tx, key, value []byte) (T, error)) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for next := []byte(nil); ; {
			part, last, err := partFrom(s, b, next, read)
			if err != nil {
				yield(nil, fmt.Errorf("batch %s: items after %x: %w", b.id, next, err))
				return
			}
			if len(part) > 0 && !yield(part, nil) || len(part) < partSize {
				return
			}
			next = append(last, 0)
		}
	}
}

// partFrom reads the items from a key on, and returns the key of the last one. Only the header of b is read
// again, which holds the newest records of some items, unless a call changed the rest.
func partFrom[T any](s Shown, b *full, from []byte, read func(b *full, tx *store.Tx, key, value []byte) (T, error)) (part []T, last []byte, err error) {
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
		part = make([]T, 0, min(partSize, now.Counts.Total))
		r := now.itemRange()
		r.From, r.Limit = from, partSize
		return tx.Scan(record.BucketItem, r, func(key, value []byte) (bool, error) {
			item, err := read(&now, tx, key, value)
			if err == nil {
				part, last = append(part, item), key
			}
			return true, err
		})
	})
	return part, last, err
}

func (b *full) readRow(tx *store.Tx, key, value []byte) (Row, error) {
	position, r, err := b.readItem(key, value)
	if err != nil {
		return Row{}, err
	}
	item, err := b.item(tx, position, r)
	return Row{item, b.sent(r)}, err
}

func (b *full) readSent(_ *store.Tx, key, value []byte) (Sent, error) {
	_, r, err := b.readItem(key, value)
	if err != nil {
		return Sent{}, err
	}
	return b.sent(r), nil
}

// sent returns the acknowledged messages of an item, without those from hidden instances. Those of the batch that it is
// a retry of count once the item was tried.
func (b *full) sent(r record.Item) Sent {
	if r.Attempts == 0 {
		return Sent{}
	}
	s := Sent{JID: r.JID, At: milli(r.StartedAt)}
	add := func(p record.SentPart) {
		if b.spec.Hides(p.Instance) {
			return
		}
		if len(s.Messages) == 0 {
			s.Instance = record.InstanceRef{ID: p.Instance, Name: b.spec.InstanceName(p.Instance)}
		}
		s.Messages = append(s.Messages, SentMessage{p.Instance, p.MessageID, p.WhatsApp})
	}
	for _, p := range r.Parts {
		add(p)
	}
	if r.Status == record.ItemSuccess {
		add(record.SentPart{Instance: r.Instance, WhatsApp: r.WhatsApp, MessageID: r.MessageID})
		s.At = milli(r.EndedAt)
	}
	if s.JID == "" && len(s.Messages) > 0 {
		if to, err := event.ParseRecipient(r.Recipient()); err == nil {
			s.JID = to.JID()
		}
	}
	return s
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
