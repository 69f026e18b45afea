package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"postern/store/schema"
)

// Restored says that the file came from a backup and that no program has started on it
// since.
type Restored struct {
	At     time.Time // time of the backup
	Resume bool      // interrupted work may go on by itself
}

var metaRestored = []byte("restored")

// MarkRestored writes the mark that Restored returns.
func (s *Store) MarkRestored(ctx context.Context, r Restored) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.Update(ctx, func(tx *Tx) error {
		return tx.putMeta(metaRestored, raw)
	})
}

// Restored returns the mark of a file that came from a backup, until ForgetRestored.
func (s *Store) Restored() (r Restored, is bool, err error) {
	err = s.View(func(tx *Tx) error {
		raw, err := tx.Get(schema.Meta.Name, metaRestored)
		if err != nil || raw == nil {
			return err
		}
		is = true
		return json.Unmarshal(raw, &r)
	})
	if err != nil {
		return r, false, fmt.Errorf("store: whether the file was restored: %w", err)
	}
	return r, is, nil
}

// ForgetRestored removes the mark.
func (s *Store) ForgetRestored(ctx context.Context) error {
	return s.Update(ctx, func(tx *Tx) error {
		tx.writes++
		tx.openings.rows.note(schema.Meta.Name, metaRestored, nil)
		return tx.bolt.Bucket([]byte(schema.Meta.Name)).Delete(metaRestored)
	})
}
