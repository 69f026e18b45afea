package store

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// opened is a bucket in a bbolt transaction, with what bbolt makes anew for each
// key that it is asked for: the bucket itself, when it only reads, and a cursor
// with its path through the pages.
type opened struct {
	*bolt.Bucket
	declared Bucket
	cursor   *bolt.Cursor
}

// openings are the buckets that one bbolt transaction was asked for, by one
// goroutine. They are few, so that looking through them is all it takes.
type openings []*opened

func (tx *Tx) bucket(name string) (*opened, error) {
	for _, b := range *tx.openings {
		if b.declared.Name == name {
			return b, nil
		}
	}
	declared, known := tx.schema[name]
	if !known {
		return nil, fmt.Errorf("store: %q: %w", name, ErrUnknownBucket)
	}
	b := &opened{Bucket: tx.bolt.Bucket([]byte(name)), declared: declared}
	b.cursor = b.Cursor()
	*tx.openings = append(*tx.openings, b)
	return b, nil
}

// Get returns the value of key as it lies in the file, nil when there is none.
func (b *opened) Get(key []byte) []byte {
	if k, v := b.cursor.Seek(key); bytes.Equal(k, key) {
		return v
	}
	return nil
}
