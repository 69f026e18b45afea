package batch

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"postern/batch/mailing"
	"postern/batch/paging"
	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// itemRows goes through the items of a batch by position; lines returns the lines of one.
// Keys of lines are those of their item, or begin with it.
func itemRows[T any](b *full, lines func(tx *store.Tx, key, value []byte) ([]paging.Line[T], int, error)) func(*store.Tx, []byte, bool, func(paging.Row[T]) (bool, error)) error {
	const size = 8 // of a position
	id := b.id
	return func(tx *store.Tx, at []byte, back bool, fn func(paging.Row[T]) (bool, error)) error {
		r := b.itemRange()
		r.Reverse = back
		switch {
		case at == nil:
		case back:
			r.Before = store.Key(id, at)
		default:
			r.From = store.Key(id, at[:min(len(at), size)])
		}
		return tx.Scan(record.BucketItem, r, func(key, value []byte) (bool, error) {
			all, cost, err := lines(tx, key, value)
			if err != nil {
				return true, err
			}
			beside := func(l paging.Line[T]) bool {
				side := bytes.Compare(l.At, at)
				return at != nil && (back && side >= 0 || !back && side <= 0)
			}
			own := key[len(id):]
			return fn(paging.Row[T]{
				First: own, Last: append(slices.Clone(own), 0xff, 0xff, 0xff, 0xff),
				Lines: slices.DeleteFunc(all, beside), Cost: cost,
			})
		})
	}
}

// listItem returns an item when f selects it.
func (b *full) listItem(tx *store.Tx, key, value []byte, f ItemFilter) ([]paging.Line[Item], int, error) {
	position, r, err := b.readItem(key, value)
	if err != nil || !f.holds(string(r.ShownStatus()), b.spec.InstanceName(r.Instance), r) {
		return nil, 1, err
	}
	item, err := b.item(tx, position, r)
	return []paging.Line[Item]{{At: key[len(b.id):], Value: item}}, 1, err
}

// attempts returns the attempts of one item, oldest first.
func (b *full) attempts(tx *store.Tx, position int, r record.Item) (all []paging.Line[Attempt], err error) {
	if r.Attempts > 1 || r.Attempts == 1 && r.Instance == 0 {
		prefix := record.ItemKey(b.id, position)
		err = tx.Scan(record.BucketAttempt, store.Range{Prefix: prefix}, func(key, value []byte) (bool, error) {
			var a record.Attempt
			if err := json.Unmarshal(value, &a); err != nil {
				return true, tx.Unreadable(record.BucketAttempt, key, err)
			}
			number := int(binary.BigEndian.Uint32(key[len(prefix):]))
			all = append(all, paging.Line[Attempt]{At: key[len(b.id):], Value: b.attempt(position, number, a)})
			return true, nil
		})
	}
	if r.Instance != 0 {
		key := record.AttemptKey(b.id, position, r.Attempts)
		all = append(all, paging.Line[Attempt]{At: key[len(b.id):], Value: b.attempt(position, r.Attempts, r.LastAttempt())})
	}
	return slices.DeleteFunc(all, func(l paging.Line[Attempt]) bool { return b.spec.Hides(l.Value.InstanceID) }), err
}

func (b *full) attempt(position, number int, a record.Attempt) Attempt {
	item := record.ItemID(b.id, position)
	shown := Attempt{
		ID: record.AttemptID(item, number), BatchID: b.id, BatchItemID: item, AttemptNumber: number,
		InstanceID: a.Instance, InstanceName: b.spec.InstanceName(a.Instance), ClientMessageID: a.ClientID,
		Status: a.Status, ErrorCode: event.OrNull(a.Code), ErrorMessage: event.OrNull(a.Error),
		CreatedAt: milli(a.StartedAt), StartedAt: milli(a.StartedAt), FinishedAt: milliPtr(a.EndedAt),
	}
	if !b.message.Several() {
		return shown
	}
	for _, p := range a.Parts {
		part := AttemptPart{Status: record.AttemptSuccess}
		if !b.spec.Hides(p.Instance) {
			part.WhatsAppMessageID = event.OrNull(p.WhatsApp)
		}
		shown.Parts = append(shown.Parts, part)
	}
	shown.Parts = append(shown.Parts, AttemptPart{Status: a.Status, WhatsAppMessageID: event.OrNull(a.WhatsApp), ErrorCode: event.OrNull(a.Code)})
	return shown
}

// listAttempts returns the attempts of an item that f selects.
func (b *full) listAttempts(tx *store.Tx, key, value []byte, f ItemFilter) ([]paging.Line[Attempt], int, error) {
	position, r, err := b.readItem(key, value)
	if err != nil {
		return nil, 1, err
	}
	all, err := b.attempts(tx, position, r)
	return slices.DeleteFunc(all, func(l paging.Line[Attempt]) bool {
		return !f.holds(string(l.Value.Status), l.Value.InstanceName, r)
	}), 1 + r.Attempts, err
}

// attemptTotal returns how many attempts the items of a batch have: one for each that has an
// instance, and those that have records of their own.
func (b *full) attemptTotal(tx *store.Tx) (n int, atLeast bool, err error) {
	n, err = tx.CountSome(record.BucketAttempt, b.id[:], paging.MaxExamined)
	atLeast = n == paging.MaxExamined
	for _, s := range b.Shares {
		n += s.Selected
	}
	return n, atLeast, err
}

func (b *full) item(tx *store.Tx, position int, r record.Item) (Item, error) {
	item := Item{
		ID: record.ItemID(b.id, position), BatchID: b.id, Position: position,
		RecipientInput: r.Input, NormalizedRecipient: r.Recipient(), RecipientJID: event.OrNull(r.JID),
		Status: r.ShownStatus(), ClientMessageID: event.OrNull(r.ClientID), WhatsAppMessageID: event.OrNull(r.WhatsApp),
		AttemptCount: r.Attempts, SelectedDelayMs: r.DelayMs,
		LastErrorCode: event.OrNull(r.Code), LastErrorMessage: event.OrNull(r.Error),
		CreatedAt: milli(b.spec.CreatedAt), UpdatedAt: milli(max(r.UpdatedAt, b.spec.CreatedAt)),
		ProcessingStartedAt: milliPtr(r.StartedAt), FinishedAt: milliPtr(r.EndedAt),
	}
	if err := b.showDetails(tx, &item, r); err != nil {
		return item, err
	}
	if b.spec.Hides(r.Instance) { // nor the message, which is in its chats
		item.ClientMessageID, item.WhatsAppMessageID = nil, nil
		return item, nil
	}
	if r.Instance != 0 {
		item.SelectedInstanceID, item.SelectedInstanceName = &r.Instance, event.OrNull(b.spec.InstanceName(r.Instance))
	}
	if r.MessageID != 0 {
		item.MessageID = &r.MessageID
	}
	return item, nil
}

// showDetails adds what an item of a batch with templates has besides its number, unless the
// record is damaged.
func (b *full) showDetails(tx *store.Tx, item *Item, r record.Item) (err error) {
	if !b.message.Templated {
		return nil
	}
	if b.content == nil {
		if b.content, err = mailing.ParseContent(b.message, b.spec.Options.Spin); err != nil {
			return fmt.Errorf("batch %s: stored message: %w: %w", b.id, store.ErrDamaged, err)
		}
	}
	d, err := record.LoadDetails(tx, b.id, item.Position, &r)
	if err != nil {
		return record.IgnoreDamage(err)
	}
	item.ExternalID, item.Variables, item.RenderedPreview = d.ExternalID, b.content.Variables(d), b.content.Preview(item.ID, d)
	return nil
}
