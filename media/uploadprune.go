package media

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

const (
	pruneStep     = 200 // uploads that one commit removes or numbers at most
	pruneInterval = time.Hour
)

// indexRow is an upload in the index by UUID.
type indexRow struct {
	instance int64
	key      uuid.UUID
}

// some returns at most pruneStep uploads of the index for which want is true.
func (l *Library) some(want func(tx *store.Tx, r indexRow, v []byte) bool) (rows []indexRow, err error) {
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(uploadIDs, store.Range{}, func(k, v []byte) (bool, error) {
			if len(k) != 16 || len(v) < 8 {
				return true, nil // the index by number
			}
			if r := (indexRow{number(v[:8]), uuid.UUID(k)}); want(tx, r, v) {
				rows = append(rows, r)
			}
			return len(rows) < pruneStep, nil
		})
	})
	return rows, err
}

// Prune forgets uploads that expired longer ago than Shown, in small commits,
// and returns how many.
func (l *Library) Prune(ctx context.Context) (removed int, err error) {
	for {
		old, err := l.some(func(tx *store.Tx, r indexRow, _ []byte) bool {
			u, err := upload(tx, r.instance, r.key)
			return errors.Is(err, ErrNotFound) || err == nil && u.Expired(tx.Now().Add(-Shown))
		})
		if err != nil || len(old) == 0 {
			return removed, err
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
			return removed, err
		}
		if removed += len(old); len(old) < pruneStep {
			return removed, nil
		}
	}
}

// numberAll gives a number to each upload that was stored before uploads had
// one, in small commits. An index row without it tells which.
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

// numberOne forgets an upload that cannot be read: no message could use it.
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
