package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"postern/store"
)

const (
	bucketKeys    = "idempotency_key"
	bucketKeyTime = "idempotency_time"

	keyLife = 24 * time.Hour
)

// Buckets declares what this package keeps in the data file.
func Buckets() []store.Bucket {
	const owner = "httpapi"
	return []store.Bucket{
		{Name: bucketKeys, Owner: owner, Key: "i + instance or u + user, then the Idempotency-Key", Value: "JSON: time, route, digest of the body, request id, status; then a line feed and the answer; no status: in flight"},
		{Name: bucketKeyTime, Owner: owner, Key: "time of the record in Unix milliseconds + its key", Value: "nothing"},
	}
}

// Owners of keys, the first byte of a record's key.
const (
	keyOfInstance = byte('i')
	keyOfUser     = byte('u')
)

// recordID is the key of a record: whose credential c has, and the caller's
// key. Ids of instances are not used again, names may be.
func recordID(c *call, key string) []byte {
	if c.instance.ID != 0 {
		return store.Key(keyOfInstance, c.instance.ID, key)
	}
	return store.Key(keyOfUser, c.user, key)
}

// keyRecord is what the file knows of a key. Status 0 is a request in flight,
// or one that never got to its end.
type keyRecord struct {
	At          int64  `json:"at"` // Unix milliseconds; its life counts from here
	Route       string `json:"route"`
	Digest      []byte `json:"digest"` // SHA-256 of the body
	RequestID   string `json:"requestId"`
	Status      int    `json:"status,omitempty"`
	ContentType string `json:"contentType,omitempty"`

	body []byte // kept apart from the JSON, which would change its bytes
}

func (r *keyRecord) encode() ([]byte, error) {
	head, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode idempotency key: %w", err)
	}
	return append(append(head, '\n'), r.body...), nil
}

func decodeKeyRecord(raw []byte) (r keyRecord, err error) {
	head, body, _ := bytes.Cut(raw, []byte("\n"))
	if err := json.Unmarshal(head, &r); err != nil {
		return r, fmt.Errorf("decode idempotency key: %w", err)
	}
	r.body = body
	return r, nil
}

// expired reports whether the record counts no more. One from the future, made
// before a clock was set back, does count; the pruner gives it a new time.
func (r *keyRecord) expired(now time.Time) bool {
	return now.UnixMilli()-r.At >= keyLife.Milliseconds()
}

// findKey reads a record that still counts.
func findKey(s *store.Store, id []byte) (r keyRecord, found bool, err error) {
	err = s.View(func(tx *store.Tx) (err error) {
		r, found, err = loadKey(tx, id)
		found = found && !r.expired(tx.Now())
		return err
	})
	return r, found, err
}

func loadKey(tx *store.Tx, id []byte) (r keyRecord, found bool, err error) {
	raw, err := tx.Get(bucketKeys, id)
	if err != nil || raw == nil {
		return r, false, err
	}
	if r, err = decodeKeyRecord(raw); err != nil {
		return r, false, tx.Unreadable(bucketKeys, id, err)
	}
	return r, true, nil
}

// putKey stores a record in the place of any other under that id.
func putKey(tx *store.Tx, id []byte, r keyRecord) error {
	if err := deleteKey(tx, id); err != nil {
		return err
	}
	raw, err := r.encode()
	if err != nil {
		return err
	}
	return errors.Join(tx.Put(bucketKeys, id, raw), tx.Put(bucketKeyTime, timeKey(r.At, id), nil))
}

func deleteKey(tx *store.Tx, id []byte) error {
	r, found, err := loadKey(tx, id)
	if err != nil || !found {
		return err
	}
	return errors.Join(tx.Delete(bucketKeyTime, timeKey(r.At, id)), tx.Delete(bucketKeys, id))
}

func timeKey(at int64, id []byte) []byte { return store.Key(uint64(max(0, at)), id) }

// timedID is the record that an entry of the index of times names.
func timedID(entry []byte) []byte { return entry[8:] }

// ForgetInstance deletes the keys of an instance, whose answers hold messages.
// It is for the commit that deletes the instance.
func ForgetInstance(tx *store.Tx, instance int64) error {
	// What is left in the index of times goes with its day.
	_, err := tx.DeletePrefix(bucketKeys, store.Key(keyOfInstance, instance))
	return err
}
