package store

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
	"postern/store/survey"
)

// opened is a bucket in a bbolt transaction, with the objects that bbolt otherwise makes
// for each key: the bucket itself, if the transaction only reads, and a cursor with its
// path through the pages.
type opened struct {
	*bolt.Bucket
	declared schema.Bucket
	cursor   *bolt.Cursor
	puts     int          // of this transaction
	free     gap          // where its last new record went
	guarded  bool         // a bucket that is one series has its guards
	changed  bool         // by this transaction
	change   survey.Tally // by how much; all arithmetic wraps around, so that a difference is a number like any other
}

// openings are the buckets that one goroutine has opened in a bbolt transaction. They are
// few, so a linear search is enough. A closure that fails either changed nothing in them,
// or its transaction starts again.
type openings struct {
	all   []*opened
	spare []byte // for the records of this transaction, which bbolt keeps until its end

	shared []sharedBy
	rows   *writeSet // what the transaction writes, for an engine; nil: there is none
	looked uint64    // records and keys that were read
}

// spareSize is the memory for records that is allocated at once. A larger record gets its
// own.
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

// seal encodes key and value as they lie in the file, in memory that is not shared.
func (o *openings) seal(key, value []byte) []byte {
	n := schema.ChecksumSize + len(value)
	switch {
	case n > spareSize/8:
		return schema.Seal(key, value)
	case n > len(o.spare):
		o.spare = make([]byte, spareSize)
	}
	to := o.spare[:0:n]
	o.spare = o.spare[n:]
	return schema.AppendSealed(to, key, value)
}

// Get returns the value of key as it lies in the file, or nil if there is none.
func (b *opened) Get(key []byte) []byte {
	if k, v := b.cursor.Seek(key); bytes.Equal(k, key) {
		return v
	}
	return nil
}

// replacedBy returns the record that a Put of key replaces, as it lies in the file, or nil
// if there is none. New records in the order of their keys are searched for once.
func (b *opened) replacedBy(key []byte) []byte {
	if b.puts++; b.puts == 1 {
		return b.Get(key)
	}
	if b.free.has(key) {
		b.free.after = append(b.free.after[:0], key...)
		return nil
	}
	k, v := b.cursor.Seek(key)
	if bytes.Equal(k, key) {
		return v
	}
	b.free = gap{known: true, last: k == nil, after: append(b.free.after[:0], key...), before: append(b.free.before[:0], k...)}
	return nil
}

// gap is a part of a bucket in which there is no key. Deletions leave it valid.
type gap struct {
	known, last   bool // last: it has no end
	after, before []byte
}

func (g *gap) has(key []byte) bool {
	return g.known && bytes.Compare(key, g.after) > 0 && (g.last || bytes.Compare(key, g.before) < 0)
}
