package messages

import (
	"context"
	"fmt"
	"time"

	"postern/event"
	"postern/store"
)

// Limits of one commit of Prune. A message in a large group has thousands of updates.
const (
	pruneStep    = 200  // messages
	pruneUpdates = 2000 // updates of them
)

// Prune removes the messages of all instances stored before the given time, in small
// commits. It returns their number and when the oldest remaining one was stored, zero if
// there is none.
func (a *Archive) Prune(ctx context.Context, before time.Time) (removed int, oldest time.Time, err error) {
	before = time.UnixMilli(before.UnixMilli()) // the stored precision
	for id := int64(0); ; {
		if id, err = a.nextWithMessages(id); err != nil || id == 0 {
			return removed, oldest, err
		}
		n, first, err := a.pruneInstance(ctx, id, before)
		if removed += n; err != nil {
			return removed, oldest, fmt.Errorf("prune messages of instance %d: %w", id, err)
		}
		if oldest.IsZero() || !first.IsZero() && first.Before(oldest) {
			oldest = first
		}
	}
}

// pruneAll is Prune for a schedule.
func (a *Archive) pruneAll(before time.Time) (oldest time.Time, err error) {
	removed, oldest, err := a.Prune(a.life, before)
	if removed > 0 {
		a.log.Info("old messages removed", "count", removed)
	}
	return oldest, err
}

// nextWithMessages returns the next instance after id that has stored messages, 0 if
// there is none.
func (a *Archive) nextWithMessages(id int64) (next int64, err error) {
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Walk(messages, store.Range{From: store.Key(id + 1), Limit: 1}, func(k []byte) (bool, error) {
			next = store.Number(k[:min(8, len(k))])
			return false, nil
		})
	})
	return next, err
}

// pruneInstance is Prune for one instance.
func (a *Archive) pruneInstance(ctx context.Context, instance int64, before time.Time) (removed int, oldest time.Time, err error) {
	for {
		oldest, err = a.firstStored(instance)
		if err != nil || oldest.IsZero() || !oldest.Before(before) {
			return removed, oldest, err
		}
		n, err := a.pruneSome(ctx, instance, before)
		if removed += n; err != nil {
			return removed, oldest, err
		}
	}
}

// firstStored returns when the oldest message of an instance was stored, zero if there is
// none.
func (a *Archive) firstStored(instance int64) (at time.Time, err error) {
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(messages, store.Range{Prefix: store.Key(instance), Limit: 1}, func(k, _ []byte) (bool, error) {
			stored, found, err := store.GetJSON[storedMessage](tx, messages, k)
			if found {
				at = time.UnixMilli(stored.StoredAt)
			}
			return false, err
		})
	})
	return at, err
}

// pruneSome removes messages in one commit.
func (a *Archive) pruneSome(ctx context.Context, instance int64, before time.Time) (n int, err error) {
	err = a.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		n, err = a.removeOld(tx, instance, before)
		return err
	})
	return n, err
}

// removeOld removes old messages of an instance, as many as fit in one commit.
func (a *Archive) removeOld(tx *store.Tx, instance int64, before time.Time) (n int, err error) {
	old, err := oldMessages(tx, instance, before)
	if err != nil {
		return 0, err
	}
	return a.removeSome(tx, instance, old)
}

// oldMessages returns the oldest messages. Ids rise with the time of storing, so the scan
// ends at the first newer one.
func oldMessages(tx *store.Tx, instance int64, before time.Time) (old []event.Message, err error) {
	r := store.Range{Prefix: store.Key(instance), Limit: pruneStep}
	err = tx.Scan(messages, r, func(k, _ []byte) (bool, error) {
		stored, _, err := store.GetJSON[storedMessage](tx, messages, k)
		if err != nil || stored.StoredAt >= before.UnixMilli() {
			return false, err
		}
		old = append(old, bare(event.Message(stored.Message)))
		return true, nil
	})
	return old, err
}

// deleteUpdates removes up to limit updates of a message and returns their number.
func deleteUpdates(tx *store.Tx, instance, message int64, limit int) (int, error) {
	var updates [][]byte
	r := store.Range{Prefix: store.Key(instance, message), Limit: limit}
	err := tx.Scan(messageUpdates, r, func(k, _ []byte) (bool, error) {
		updates = append(updates, k)
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	for _, k := range updates {
		if err := tx.Delete(messageUpdates, k); err != nil {
			return 0, err
		}
	}
	return len(updates), nil
}
