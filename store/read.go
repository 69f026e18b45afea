package store

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
	"postern/store/survey"
)

// Look calls fn for each record of r in key order until fn returns false or an error. It
// is Scan without the copies: key and value lie in the file and may be neither kept nor
// changed. The value of a damaged record is nil, and the record is counted. Range.Limit
// is ignored, and fn must not write to the bucket.
func (tx *Tx) Look(bucket string, r Range, fn func(key, value []byte) (bool, error)) error {
	return tx.look(bucket, r, func(k, raw []byte) (bool, error) {
		value, ok := schema.Verify(k, raw)
		if !ok {
			tx.damage(bucket, k)
			value = nil
		}
		return fn(k, value)
	})
}

// Skim is Look without verifying checksums, for an owner that reads tens of megabytes in
// some milliseconds and verifies what it found before it shows it. Only a value that is
// too short to be a record is nil.
func (tx *Tx) Skim(bucket string, r Range, fn func(key, value []byte) (bool, error)) error {
	return tx.look(bucket, r, func(k, raw []byte) (bool, error) {
		if len(raw) < schema.ChecksumSize {
			return fn(k, nil)
		}
		return fn(k, raw[schema.ChecksumSize:])
	})
}

func (tx *Tx) look(bucket string, r Range, fn func(key, raw []byte) (bool, error)) error {
	b, err := tx.bucket(bucket)
	if err != nil {
		return err
	}
	declared := b.declared
	from, before := r.bounds()
	c := b.Cursor()
	step := (*bolt.Cursor).Next
	if r.Reverse {
		step = (*bolt.Cursor).Prev
	}
	k, raw := seek(c, r.Reverse, from, before)
	for ; k != nil && inside(k, from, before); k, raw = step(c) {
		tx.openings.looked++
		if declared.IsGuard(k) {
			continue
		}
		if more, err := fn(k, raw); err != nil || !more {
			return err
		}
	}
	return nil
}

// Rows returns the number of records in the bucket, including damaged ones, without
// counting them. It is for a View: the changes of an Update show only after it.
func (tx *Tx) Rows(bucket string) (uint64, error) {
	b, err := tx.bucket(bucket)
	if err != nil {
		return 0, err
	}
	raw, err := tx.Get(schema.Meta.Name, survey.TallyKey(bucket))
	if err != nil {
		return 0, err
	}
	t, ok := survey.DecodeTally(raw)
	if raw != nil && !ok {
		return 0, tx.Unreadable(schema.Meta.Name, survey.TallyKey(bucket), errors.New("no tally"))
	}
	declared := b.declared
	if !declared.Guards {
		return t.Rows, nil
	}
	if declared.Series > 0 {
		return 0, fmt.Errorf("store: %s has guards in each series: its records have to be counted", bucket)
	}
	if k, _ := b.Cursor().Last(); k != nil && declared.IsGuard(k) {
		return t.Rows - (0xFF - schema.FirstGuard + 1), nil
	}
	return t.Rows, nil
}

// Peek is Get without the copy: the value may be neither kept nor changed, and is valid
// until the transaction writes or ends.
func (tx *Tx) Peek(bucket string, key []byte) (value []byte, found bool, err error) {
	b, err := tx.bucket(bucket)
	if err != nil {
		return nil, false, err
	}
	tx.openings.looked++
	raw := b.Get(key)
	if raw == nil {
		return nil, false, nil
	}
	value, ok := schema.Verify(key, raw)
	if !ok {
		tx.damage(bucket, key)
		return nil, true, fmt.Errorf("store: %s key %x: %w", bucket, key, ErrDamaged)
	}
	return value, true, nil
}

// Walk calls fn for each key of r, including those of damaged records, until fn returns
// false or an error. It does not read values. fn may not keep keys and must not write to
// the bucket. Range.Limit is ignored.
func (tx *Tx) Walk(bucket string, r Range, fn func(key []byte) (bool, error)) error {
	return tx.look(bucket, r, func(k, _ []byte) (bool, error) { return fn(k) })
}
