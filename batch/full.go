package batch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/table"
	"postern/store"
)

// full is a batch as it is in the file.
type full struct {
	id uuid.UUID
	record.Header
	spec    *record.Spec
	message *record.Message
	content *mailing.Content // of message, when it was parsed
}

func load(tx *store.Tx, id uuid.UUID) (*full, error) {
	h, err := record.LoadHeader(tx, id)
	if err != nil {
		return nil, err
	}
	s, err := record.LoadSpec(tx, id)
	if err != nil {
		return nil, err
	}
	m, err := record.LoadMessage(tx, id)
	if err != nil {
		return nil, err
	}
	return &full{id: id, Header: h, spec: s, message: m}, nil
}

// maxRecent is how many ended items wait in the header of a batch for
// their own place in the file. The header is written with every item anyway,
// and those of all running batches lie next to each other; so most commits
// do not change the pages of the items. More would make the header the larger
// part of a commit.
const maxRecent = 8

// loadItem reads an item as this transaction sees it.
func (b *full) loadItem(tx *store.Tx, position int) (record.Item, error) {
	key := record.ItemKey(b.id, position)
	raw := b.Newest(position)
	if raw == nil {
		var err error
		if raw, err = tx.Get(record.BucketItem, key); err != nil {
			return record.Item{}, err
		}
	}
	if raw == nil {
		return record.Item{}, fmt.Errorf("batch %s: item %d: %w", b.id, position, ErrNotFound)
	}
	_, r, err := b.readItem(key, raw)
	if err != nil {
		err = tx.Unreadable(record.BucketItem, key, err)
	}
	return r, err
}

// loadOrLost is loadItem for callers that tolerate damage: an item whose record is
// damaged has no recipient, and no message is sent for it.
func (b *full) loadOrLost(tx *store.Tx, position int) (record.Item, error) {
	r, err := b.loadItem(tx, position)
	if errors.Is(err, store.ErrDamaged) {
		return record.Item{}, nil
	}
	return r, err
}

// readItem returns the item of a key and a value of the items' bucket,
// in its newest form.
func (b *full) readItem(key, raw []byte) (position int, r record.Item, err error) {
	position = record.ItemKeyPosition(key)
	if newer := b.Newest(position); newer != nil {
		raw = newer
	}
	if r, err = record.DecodeItem(raw); err != nil {
		err = fmt.Errorf("batch %s: item %d: %w", b.id, position, err)
	}
	return position, r, err
}

// putItem puts the item into the header, which step stores.
func (b *full) putItem(tx *store.Tx, position int, r *record.Item) {
	r.UpdatedAt = tx.Now().UnixMilli()
	for i := range b.Recent {
		if b.Recent[i].Position == position {
			b.Recent[i].Raw = r.Encode()
			return
		}
	}
	b.Recent = append(b.Recent, record.Newer{Position: position, Raw: r.Encode()})
}

// turn reports whether the items of a running batch move now. Batches that began
// together share their commits, item for item; so each has its turn at positions
// of its own, since a commit in which all of them move would delay all of them.
func (b *full) turn() bool {
	return (b.Current+int(b.id[len(b.id)-1]))%maxRecent == 0
}

// settle moves the items to their own place, except the one being sent, when it
// is the batch's turn or it comes to rest.
func (b *full) settle(tx *store.Tx) error {
	if table.Busy(b.Status) && (len(b.Recent) < 2 || !b.turn()) {
		return nil
	}
	sending := func(i record.Newer) bool { return b.Counts.Sending > 0 && i.Position == b.Current }
	for _, i := range b.Recent {
		if sending(i) {
			continue
		}
		if err := tx.Put(record.BucketItem, record.ItemKey(b.id, i.Position), i.Raw); err != nil {
			return err
		}
	}
	b.Recent = slices.DeleteFunc(b.Recent, func(i record.Newer) bool { return !sending(i) })
	return nil
}
