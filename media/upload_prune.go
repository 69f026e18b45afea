package media

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

const pruneStep = 200 // maximum uploads per commit, removed or numbered

// indexRow is an upload in the index by UUID.
type indexRow struct {
	instance int64
	key      uuid.UUID
}

// some returns up to pruneStep uploads of the index for which want is true.
func (l *Library) some(want func(tx *store.Tx, r indexRow, v []byte) bool) (rows []indexRow, err error) {
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(uploadIDs, store.Range{}, func(k, v []byte) (bool, error) {
			if len(k) != 16 || len(v) < 8 {
				return true, nil // the index by number
			}
			if r := (indexRow{store.Number(v[:8]), uuid.UUID(k)}); want(tx, r, v) {
				rows = append(rows, r)
			}
			return len(rows) < pruneStep, nil
		})
	})
	return rows, err
}

// firstUUID sorts before all UUIDs of the index and after all numbers.
var firstUUID = []byte{0, 0, 0, 1}

// Prune removes uploads that expired longer ago than Shown, in small commits. It returns
// their number, and when the next one is due, zero if there is none.
func (l *Library) Prune(ctx context.Context) (removed int, next time.Time, err error) {
	for {
		var old []indexRow
		if old, next, err = l.pastShown(); err != nil || len(old) == 0 {
			return removed, next, err
		}
		err = l.cfg.Store.Update(ctx, func(tx *store.Tx) error {
			for _, r := range old {
				if err := remove(tx, r.instance, r.key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return removed, next, err
		}
		removed += len(old)
	}
}

// pastShown returns some uploads past their display time, and when the first remaining
// one is due. UUIDs rise with time, so it stops at the first one that remains. A damaged
// upload has no known expiry and cannot be used by messages; it is removed with the
// preceding ones.
func (l *Library) pastShown() (old []indexRow, next time.Time, err error) {
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(uploadIDs, store.Range{From: firstUUID, Limit: pruneStep}, func(k, v []byte) (bool, error) {
			if len(k) != 16 || len(v) < 8 {
				return true, nil
			}
			r := indexRow{store.Number(v[:8]), uuid.UUID(k)}
			u, err := upload(tx, r.instance, r.key)
			switch {
			case errors.Is(err, ErrNotFound), errors.Is(err, store.ErrDamaged), err == nil && u.Expired(tx.Now().Add(-Shown)):
				old = append(old, r)
				return true, nil
			case err == nil:
				next = u.ExpiresAt.Add(Shown)
			}
			return false, err
		})
	})
	return old, next, err
}

// numberAll assigns numbers to uploads stored before uploads had one, in small commits.
// They are those whose index row lacks one.
func (l *Library) numberAll(ctx context.Context) error {
	for {
		rows, err := l.some(func(_ *store.Tx, _ indexRow, v []byte) bool { return len(v) == 8 })
		if err != nil || len(rows) == 0 {
			return err
		}
		err = l.cfg.Store.Update(ctx, func(tx *store.Tx) error {
			for _, r := range rows {
				if err := numberOne(tx, r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("media: number the uploads: %w", err)
		}
	}
}

// numberOne removes an unreadable upload, which no message can use.
func numberOne(tx *store.Tx, r indexRow) error {
	u, err := upload(tx, r.instance, r.key)
	if errors.Is(err, ErrNotFound) || errors.Is(err, store.ErrDamaged) {
		return remove(tx, r.instance, r.key)
	}
	if err != nil {
		return err
	}
	n, err := tx.NextID(uploads)
	if err != nil {
		return err
	}
	u.Number = int64(n) //nolint:gosec // counts from 1
	return put(tx, r.instance, u)
}
