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
	guarded  bool  // a bucket that is one series has its guards
	changed  bool  // by this transaction
	change   tally // by how much; all arithmetic wraps around, so that a difference is a number like any other
}

// openings are the buckets that one bbolt transaction was asked for, by one
// goroutine. They are few, so that looking through them is all it takes. A
// closure that fails changed nothing in them, or its transaction starts again.
type openings struct {
	all   []*opened
	spare []byte // for the records of this transaction, which bbolt keeps until its end

	shared []sharedBy
	looked uint64 // records and keys that were read
}

// spareSize is how much memory for records is taken at once; a large one gets its own.
const spareSize = 4 << 10

func (tx *Tx) bucket(name string) (*opened, error) {
	for _, b := range tx.openings.all {
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
	tx.openings.all = append(tx.openings.all, b)
	return b, nil
}

// seal is the record of key and value as it lies in the file, in memory that nobody else has.
func (o *openings) seal(key, value []byte) []byte {
	n := checksumSize + len(value)
	switch {
	case n > spareSize/8:
		return seal(key, value)
	case n > len(o.spare):
		o.spare = make([]byte, spareSize)
	}
	to := o.spare[:0:n]
	o.spare = o.spare[n:]
	return appendSealed(to, key, value)
}

// Get returns the value of key as it lies in the file, nil when there is none.
func (b *opened) Get(key []byte) []byte {
	if k, v := b.cursor.Seek(key); bytes.Equal(k, key) {
		return v
	}
	return nil
}
