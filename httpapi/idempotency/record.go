package idempotency

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"postern/store"
	"postern/store/schema"
)

const (
	bucketKeys  = "idempotency_key"
	bucketTimes = "idempotency_time"

	// Life is how long a key is kept after it was used.
	Life = 24 * time.Hour
)

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	const owner = "httpapi"
	return []schema.Bucket{
		{Name: bucketKeys, Owner: owner, Key: "i + instance, u + user or o, then the Idempotency-Key", Value: "JSON: time, route, digest of the body, request id, status; then a line feed and the answer; no status: in flight", Needs: schema.References(schema.Decoded(0, decode), "an Idempotency-Key is not known any more: what it was used for may be done again", toTime)},
		{Name: bucketTimes, Owner: owner, Key: "steady time of the record in Unix milliseconds + its key", Value: "nothing", Needs: schema.References(schema.Sized(0), "", toKey)},
	}
}

// record is the stored record of a key. Status 0 means a request in flight, or one that never finished.
type record struct {
	At          int64  `json:"at"` // Unix milliseconds of steady time, which no clock that is set makes old; its life counts from here
	Route       string `json:"route"`
	Digest      []byte `json:"digest"` // SHA-256 of the body
	RequestID   string `json:"requestId"`
	Status      int    `json:"status,omitempty"`
	ContentType string `json:"contentType,omitempty"`

	body []byte // kept apart from the JSON, which would change its bytes
}

func (r *record) encode() ([]byte, error) {
	head, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode idempotency key: %w", err)
	}
	return append(append(head, '\n'), r.body...), nil
}

func decode(raw []byte) (r record, err error) {
	head, body, _ := bytes.Cut(raw, []byte("\n"))
	if err := json.Unmarshal(head, &r); err != nil {
		return r, fmt.Errorf("decode idempotency key: %w", err)
	}
	r.body = body
	return r, nil
}

// expired reports whether the record has expired at a steady time. A record from the future, which an earlier release
// made before a clock was set back, has not; the pruner gives it a new time.
func (r *record) expired(now time.Time) bool {
	return now.UnixMilli()-r.At >= Life.Milliseconds()
}

// find reads a record that has not expired.
func find(s *store.Store, id []byte) (r record, found bool, err error) {
	err = s.View(func(tx *store.Tx) (err error) {
		r, found, err = load(tx, id)
		found = found && !r.expired(tx.Steady())
		return err
	})
	return r, found, err
}

func load(tx *store.Tx, id []byte) (r record, found bool, err error) {
	raw, err := tx.Get(bucketKeys, id)
	if err != nil || raw == nil {
		return r, false, err
	}
	if r, err = decode(raw); err != nil {
		return r, false, tx.Unreadable(bucketKeys, id, err)
	}
	return r, true, nil
}

// put stores a record and replaces any other with that id.
func put(tx *store.Tx, id []byte, r record) error {
	if err := remove(tx, id); err != nil {
		return err
	}
	raw, err := r.encode()
	if err != nil {
		return err
	}
	return errors.Join(tx.Put(bucketKeys, id, raw), tx.Put(bucketTimes, timeKey(r.At, id), nil))
}

func remove(tx *store.Tx, id []byte) error {
	r, found, err := load(tx, id)
	if err != nil || !found {
		return err
	}
	return errors.Join(tx.Delete(bucketTimes, timeKey(r.At, id)), tx.Delete(bucketKeys, id))
}

func timeKey(at int64, id []byte) []byte { return store.Key(uint64(max(0, at)), id) }

// timedID returns the id of the record that an entry of the index of times names.
func timedID(entry []byte) []byte { return entry[8:] }

// ForgetInstance deletes the keys of an instance, whose answers contain messages, in the commit that deletes the
// instance.
func ForgetInstance(tx *store.Tx, instance int64) error {
	// Remaining entries in the index of times expire after a day.
	_, err := tx.DeletePrefix(bucketKeys, store.Key(ownedByInstance, instance))
	return err
}

// Count returns the number of keys in s. It scans all of them.
func Count(s *store.Store) (int, error) { return s.Rows(bucketTimes) }
