package batch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/internal/prune"
	"postern/store"
)

const (
	expireRead = 1000 // headers that one read transaction looks at
	expireStep = 100  // batches that one commit takes from their readers
)

// Delete removes a final batch. It is gone for every reader when Delete
// returns; its items and attempts are removed in the background, and its events
// once they are delivered. Errors are ErrNotFound, and *table.TransitionError for a
// batch that is not final.
func (e *Engine) Delete(ctx context.Context, owner, id uuid.UUID) error {
	err := e.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if !tx.Has(record.BucketOwner, store.Key(owner, id)) {
			return ErrNotFound
		}
		h, err := record.LoadHeader(tx, id)
		if err != nil {
			return err
		}
		if !table.Final(h.Status) {
			return &table.TransitionError{Status: h.Status, Trigger: table.OnDelete}
		}
		return e.withdraw(tx, owner, id, h.Status)
	})
	if err != nil {
		return fmt.Errorf("batch %s: delete: %w", id, err)
	}
	e.removeSoon()
	e.cfg.Changed(owner, id, true)
	return nil
}

// withdraw hides a batch from all readers, in one commit of the same size for
// every batch, and leaves a mark for the removal of its records.
func (e *Engine) withdraw(tx *store.Tx, owner, id uuid.UUID, status event.BatchStatus) error {
	return errors.Join(
		tx.Delete(record.BucketOwner, store.Key(owner, id)),
		tx.Delete(record.BucketHeader, id[:]),
		tx.Delete(record.BucketSpec, id[:]),
		tx.Delete(record.BucketMessage, id[:]),
		tx.Put(record.BucketRemoving, id[:], nil),
		e.cfg.Outbox.Forget(tx, id),
		record.NoteStatus(tx, owner, id, status, ""),
	)
}

// removeSoon wakes remove.
func (e *Engine) removeSoon() {
	select {
	case e.removals <- struct{}{}:
	default:
	}
}

// remove removes the records of withdrawn batches, now and whenever another one
// was withdrawn, until Stop.
func (e *Engine) remove() {
	for {
		if err := e.removeAll(); err != nil && !e.stopping() {
			e.cfg.Logger.Warn("removed batches still have records, the next removal or start tries again", "error", err)
		}
		select {
		case <-e.removals:
		case <-e.stop:
			return
		}
	}
}

func (e *Engine) removeAll() error {
	for more := true; more && !e.stopping(); {
		err := e.cfg.Store.View(func(tx *store.Tx) (err error) {
			more, err = record.AnyOf(tx, record.BucketRemoving)
			return err
		})
		if err != nil || !more {
			return err // nothing to do costs no commit
		}
		if err := e.update(removeSome); err != nil {
			return err
		}
	}
	return nil
}

// removeSome removes removeStep records of withdrawn batches, with the marks of
// those without further records.
func removeSome(tx *store.Tx) error {
	var withdrawn []uuid.UUID
	err := tx.Scan(record.BucketRemoving, store.Range{Limit: record.RemoveStep}, func(k, _ []byte) (bool, error) {
		id, err := uuid.FromBytes(k)
		withdrawn = append(withdrawn, id)
		return true, err
	})
	room := record.RemoveStep
	for _, id := range withdrawn {
		for _, bucket := range []string{record.BucketItem, record.BucketDetails, record.BucketAttempt} {
			if err != nil || room <= 0 {
				return err
			}
			var n int
			n, err = tx.DeleteSome(bucket, id[:], room)
			room -= n
		}
		if err != nil || room <= 0 {
			return err
		}
		err = tx.Delete(record.BucketRemoving, id[:])
		room--
	}
	return err
}

// expire removes final batches when their retention has ended, until Stop.
func (e *Engine) expire() {
	prune.Loop(e.life, e.cfg.Store, e.cfg.Retention, e.expireOnce, func(err error) {
		e.cfg.Logger.Warn("old batches not removed", "error", err)
	})
}

// expireOnce withdraws the batches that were final before a time. It returns
// when the first of those that it leaves became final, or was created.
//
// A batch is never final before it is created, and an id shows when that was:
// so it looks at no batch that was created later. Ids from the future, which
// the library keeps creating after the clock was set back, carry no information.
func (e *Engine) expireOnce(before time.Time) (oldest time.Time, err error) {
	now := e.now().Add(time.Millisecond)
	var young expiryLook
	err = e.cfg.Store.View(func(tx *store.Tx) error {
		r := store.Range{From: idAt(before), Before: idAt(now), Limit: 1}
		return tx.Scan(record.BucketHeader, r, func(k, _ []byte) (bool, error) {
			young.keep(createdAt(k))
			return false, nil
		})
	})
	if err != nil {
		return oldest, err
	}
	oldest = young.oldest
	for _, r := range []store.Range{{Before: idAt(before)}, {From: idAt(now)}} {
		left, err := e.expireIn(r, before)
		if err != nil {
			return oldest, err
		}
		if oldest.IsZero() || !left.IsZero() && left.Before(oldest) {
			oldest = left
		}
	}
	return oldest, nil
}

// expireIn is expireOnce for a range of ids.
func (e *Engine) expireIn(r store.Range, before time.Time) (oldest time.Time, err error) {
	removed := 0
	l := expiryLook{more: true}
	for r.Limit = expireRead; l.more && e.life.Err() == nil; {
		if err := e.cfg.Store.View(func(tx *store.Tx) error { return l.read(tx, r, before) }); err != nil {
			return oldest, err
		}
		for some := range slices.Chunk(l.expired, expireStep) {
			if err := e.update(func(tx *store.Tx) error { return e.withdrawAll(tx, some) }); err != nil {
				return oldest, err
			}
			e.removeSoon()
			removed += len(some)
		}
		r.From = append(bytes.Clone(l.last), 0)
	}
	if removed > 0 {
		e.cfg.Logger.Info("old batches removed", "count", removed)
	}
	return l.oldest, nil
}

// expiryLook is the result of some read transactions.
type expiryLook struct {
	expired []uuid.UUID // of the last one
	oldest  time.Time   // of those that stay; zero: none
	last    []byte      // key that was looked at
	more    bool
}

func (l *expiryLook) read(tx *store.Tx, r store.Range, before time.Time) error {
	seen := 0
	l.expired = nil
	err := tx.Scan(record.BucketHeader, r, func(k, v []byte) (bool, error) {
		seen, l.last = seen+1, k
		id, err := uuid.FromBytes(k)
		if err != nil {
			return true, nil //nolint:nilerr // no batch has such a key
		}
		h, err := record.DecodeHeader(v)
		if err != nil || !table.Final(h.Status) {
			return true, nil //nolint:nilerr // a damaged batch is left alone
		}
		if ended := h.FinalAt(); ended.Before(before) {
			l.expired = append(l.expired, id)
		} else {
			l.keep(ended)
		}
		return true, nil
	})
	l.more = seen == r.Limit
	return err
}

func (l *expiryLook) keep(at time.Time) {
	if l.oldest.IsZero() || at.Before(l.oldest) {
		l.oldest = at
	}
}

// createdAt returns when the creation of a batch began: its id is a UUID of version
// 7, which begins with that in Unix milliseconds.
func createdAt(id []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id) >> 16))
}

// idAt returns the smallest id of batches created at a time or later.
func idAt(at time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(max(0, at.UnixMilli()))<<16)
}

// withdrawAll withdraws those of some final batches that still exist.
func (e *Engine) withdrawAll(tx *store.Tx, some []uuid.UUID) error {
	for _, id := range some {
		s, found, err := store.GetJSON[record.Spec](tx, record.BucketSpec, id[:])
		var h record.Header
		if err == nil && found {
			h, err = record.LoadHeader(tx, id)
		}
		if errors.Is(err, store.ErrDamaged) || errors.Is(err, ErrNotFound) || err == nil && !found {
			continue
		}
		if err == nil {
			err = e.withdraw(tx, s.Owner, id, h.Status)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
