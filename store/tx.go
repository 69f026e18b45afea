package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
	"postern/store/survey"
)

// Tx is a transaction. It is valid only inside the closure that it was passed to, and
// only on that goroutine. All of its reads see one state of the file plus its own writes.
type Tx struct {
	bolt     *bolt.Tx
	openings *openings
	schema   schema.Schema
	now      time.Time
	steady   time.Time
	woken    bool
	after    []func()         // called once the commit is on disk
	writes   int              // Puts and Deletes so far
	damaged  []survey.Damaged // records that could not be read
	healed   []string         // damaged records that were replaced or deleted
}

// Range selects the keys of a Scan. The zero value selects all.
type Range struct {
	Prefix  []byte // only keys that begin with it
	From    []byte // first key, inclusive; nil = the beginning
	Before  []byte // first key not included; nil = the end
	Reverse bool   // from the last key to the first
	Limit   int    // at most so many records; 0 = no limit
}

// Now returns the timestamp of the transaction, in UTC, cut to milliseconds. All records
// and events of one commit carry it. While the clock is more than 48 hours behind the
// last time in the file, Now continues from that time, for a day at most.
func (tx *Tx) Now() time.Time { return tx.now }

// Steady returns the time by which the file counts lives of limited length, in UTC, cut
// to milliseconds. It begins as the time of day and advances with the monotonic clock. A
// stop adds the difference in the time of day, up to 48 hours. Setting the clock, by any
// amount, therefore ends no life early. The steady time differs from the time of day:
// compare it only with itself.
func (tx *Tx) Steady() time.Time { return tx.steady.Truncate(time.Millisecond) }

// Get returns a copy of the value of key, or nil when there is none. It
// returns ErrDamaged when the checksum does not match.
func (tx *Tx) Get(bucket string, key []byte) ([]byte, error) {
	b, err := tx.bucket(bucket)
	if err != nil {
		return nil, err
	}
	tx.openings.looked++
	raw := b.Get(key)
	if raw == nil {
		return nil, nil
	}
	value, ok := schema.Verify(key, raw)
	if !ok {
		tx.damage(bucket, key)
		return nil, fmt.Errorf("store: %s key %x: %w", bucket, key, ErrDamaged)
	}
	return append(make([]byte, 0, len(value)), value...), nil
}

// Has reports whether key exists, damaged or not.
func (tx *Tx) Has(bucket string, key []byte) bool {
	b, err := tx.bucket(bucket)
	tx.openings.looked++
	return err == nil && b.Get(key) != nil
}

// Put stores value under key. It keeps neither.
func (tx *Tx) Put(bucket string, key, value []byte) error {
	b, err := tx.bucket(bucket)
	if err != nil {
		return err
	}
	b.FillPercent = max(b.FillPercent, b.declared.FillFor(key)) // bbolt splits at the end of the commit
	tx.writes++
	if b.declared.Guards {
		if err := tx.guard(b, key); err != nil {
			return err
		}
	}
	old, sealed := b.replacedBy(key), tx.openings.seal(key, value)
	tx.replaced(b, key, old, sealed)
	tx.openings.rows.note(bucket, key, sealed)
	if err := b.Put(key, sealed); err != nil {
		return fmt.Errorf("store: put %s key %x: %w", bucket, key, err)
	}
	return nil
}

// putMeta stores a record of meta, which no tally counts.
func (tx *Tx) putMeta(key, value []byte) error {
	tx.writes++
	sealed := schema.Seal(key, value)
	tx.openings.rows.note(schema.Meta.Name, key, sealed)
	return tx.bolt.Bucket([]byte(schema.Meta.Name)).Put(key, sealed)
}

// Delete removes key. A missing key is no error.
func (tx *Tx) Delete(bucket string, key []byte) error {
	b, err := tx.bucket(bucket)
	if err != nil {
		return err
	}
	old := b.Get(key)
	if old == nil {
		return nil
	}
	tx.writes++
	b.guarded = b.guarded && !b.declared.IsGuard(key)
	tx.replaced(b, key, old, nil)
	tx.openings.rows.note(bucket, key, nil)
	if err := b.Delete(key); err != nil {
		return fmt.Errorf("store: delete %s key %x: %w", bucket, key, err)
	}
	return nil
}

// DeletePrefix removes every record whose key begins with prefix, including damaged ones,
// which readers never see. It returns the number of records removed.
func (tx *Tx) DeletePrefix(bucket string, prefix []byte) (n int, err error) {
	return tx.DeleteSome(bucket, prefix, math.MaxInt)
}

// DeleteSome is DeletePrefix for at most limit records, for deletions that are too large
// for one commit. If it returns limit, there may be more.
func (tx *Tx) DeleteSome(bucket string, prefix []byte, limit int) (n int, err error) {
	b, err := tx.bucket(bucket)
	if err != nil {
		return 0, err
	}
	var keys [][]byte // deleting moves a cursor, so they are collected first
	c := b.Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && n < limit; k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
		if !b.declared.IsGuard(k) {
			n++
		}
	}
	for _, k := range keys {
		if err := tx.Delete(bucket, k); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Count counts the records whose keys begin with prefix, including damaged ones. It walks
// through the keys, at some nanoseconds each.
func (tx *Tx) Count(bucket string, prefix []byte) (n int, err error) {
	return tx.CountSome(bucket, prefix, math.MaxInt)
}

// CountSome is Count up to most. If it returns most, there may be more.
func (tx *Tx) CountSome(bucket string, prefix []byte, most int) (n int, err error) {
	if most <= 0 {
		return 0, nil
	}
	err = tx.Walk(bucket, Range{Prefix: prefix}, func([]byte) (bool, error) {
		n++
		return n < most, nil
	})
	return n, err
}

// NextID returns the bucket's next number, starting at 1. Numbers are not reused, even if
// all records are deleted; those of a failed Update are.
func (tx *Tx) NextID(bucket string) (uint64, error) {
	b, err := tx.bucket(bucket)
	if err != nil {
		return 0, err
	}
	tx.writes++
	b.changed = true
	id, err := b.NextSequence()
	if err != nil {
		return 0, fmt.Errorf("store: next id of %s: %w", bucket, err)
	}
	return id, nil
}

// LastID returns the last number that NextID or TakeID gave, or 0.
func (tx *Tx) LastID(bucket string) (uint64, error) {
	b, err := tx.bucket(bucket)
	if err != nil {
		return 0, err
	}
	return b.Sequence(), nil
}

// TakeID notes that the caller assigned the number id by itself, and maybe all below it.
// NextID and LastID continue from there. A lower number changes nothing.
func (tx *Tx) TakeID(bucket string, id uint64) error {
	b, err := tx.bucket(bucket)
	if err != nil || id <= b.Sequence() {
		return err
	}
	tx.writes++
	b.changed = true
	if err := b.SetSequence(id); err != nil {
		return fmt.Errorf("store: take id %d of %s: %w", id, bucket, err)
	}
	return nil
}

// Wake has this commit close the channel of Store.Woken.
func (tx *Tx) Wake() { tx.woken = true }

// After has fn called once this commit is on disk and before Update returns, in the order
// of the commits. fn is not called if the closure fails, and is called once if the
// closure ran twice. The store's writer calls fn, which must neither block nor use the
// store.
func (tx *Tx) After(fn func()) { tx.after = append(tx.after, fn) }

// Scan calls fn for each record of r in key order until fn returns false or an error. key
// and value are copies. Scan counts and skips damaged records, including those for which
// fn returns an error that wraps ErrDamaged. fn must not write to the scanned bucket:
// collect first, then write.
func (tx *Tx) Scan(bucket string, r Range, fn func(key, value []byte) (bool, error)) error {
	b, err := tx.bucket(bucket)
	if err != nil {
		return err
	}
	from, before := r.bounds()
	c := b.Cursor()
	step := c.Next
	if r.Reverse {
		step = c.Prev
	}
	k, raw := seek(c, r.Reverse, from, before)
	for n := 0; k != nil && inside(k, from, before) && (r.Limit == 0 || n < r.Limit); k, raw = step() {
		tx.openings.looked++
		if b.declared.IsGuard(k) {
			continue
		}
		value, ok := schema.Verify(k, raw)
		if !ok {
			tx.damage(bucket, k)
			continue
		}
		more, err := fn(bytes.Clone(k), append(make([]byte, 0, len(value)), value...))
		if errors.Is(err, ErrDamaged) {
			continue
		}
		n++
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// bounds folds prefix, from and before into one half-open interval.
func (r Range) bounds() (from, before []byte) {
	from, before = r.From, r.Before
	if r.Prefix == nil {
		return from, before
	}
	if bytes.Compare(from, r.Prefix) < 0 {
		from = r.Prefix
	}
	if end := after(r.Prefix); end != nil && (before == nil || bytes.Compare(before, end) > 0) {
		before = end
	}
	return from, before
}

func seek(c *bolt.Cursor, reverse bool, from, before []byte) (key, raw []byte) {
	if !reverse {
		if from == nil {
			return c.First()
		}
		return c.Seek(from)
	}
	if before == nil {
		return c.Last()
	}
	if k, _ := c.Seek(before); k == nil {
		return c.Last()
	}
	return c.Prev()
}

func inside(k, from, before []byte) bool {
	return bytes.Compare(k, from) >= 0 && (before == nil || bytes.Compare(k, before) < 0)
}

func (tx *Tx) damage(bucket string, key []byte) {
	tx.damaged = append(tx.damaged, survey.Damaged{Bucket: bucket, Key: bytes.Clone(key)})
}

// Unreadable reports a record that its owner cannot decode although its checksum is
// right. The record is counted and logged like a damaged one. The returned error wraps
// ErrDamaged and err.
func (tx *Tx) Unreadable(bucket string, key []byte, err error) error {
	tx.damage(bucket, key)
	return fmt.Errorf("store: %s key %x: %w: %w", bucket, key, ErrDamaged, err)
}

// maxLevels is the nesting depth at which the JSON decoder stops.
const maxLevels = 10_000

// PutJSON stores v as JSON. It refuses a value that GetJSON could not read: an encoder
// accepts raw JSON of any depth, and the decoder stops at maxLevels.
func PutJSON(tx *Tx, bucket string, key []byte, v any) error {
	raw, err := EncodeJSON(v)
	if err != nil {
		return fmt.Errorf("store: encode %s key %x: %w", bucket, key, err)
	}
	return tx.Put(bucket, key, raw)
}

// EncodeJSON returns what PutJSON stores for v. Values that can be encoded before the
// transaction spare the writer, which all callers wait for, the work.
func EncodeJSON(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if opens := bytes.Count(raw, []byte{'{'}) + bytes.Count(raw, []byte{'['}); opens > maxLevels && !json.Valid(raw) {
		return nil, ErrUnreadable
	}
	return raw, nil
}

// GetJSON reads a value that PutJSON stored; found is false if there is none. A value
// that does not fit v is damaged: the error wraps ErrDamaged.
func GetJSON[T any](tx *Tx, bucket string, key []byte) (v T, found bool, err error) {
	raw, err := tx.Get(bucket, key)
	if err != nil || raw == nil {
		return v, false, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, false, tx.Unreadable(bucket, key, err)
	}
	return v, true, nil
}
