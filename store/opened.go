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

// replaced notes that the record old becomes the record sealed; nil stands for no record.
func (tx *Tx) replaced(b *opened, key, old, sealed []byte) {
	b.changed = true
	if old != nil {
		b.change.Rows--
		b.change.Sum -= survey.Digest(old)
		if _, ok := schema.Verify(key, old); !ok {
			b.change.Vague = true
			tx.healed = append(tx.healed, schema.RecordName(b.declared.Name, key))
		}
	}
	if sealed != nil {
		b.change.Add(sealed)
	}
}

// writeTallies puts the tallies of the buckets that btx changed into its commit and
// returns them.
func writeTallies(btx *bolt.Tx, o *openings, t survey.Tallies) (survey.Tallies, error) {
	changed := make(survey.Tallies, len(o.all))
	meta := btx.Bucket([]byte(schema.Meta.Name))
	for _, b := range o.all {
		if !b.changed {
			continue
		}
		bucket := b.declared.Name
		next := t[bucket]
		next.Rows += b.change.Rows
		next.Sum += b.change.Sum
		next.Vague = next.Vague || b.change.Vague
		next.Sequence = b.Sequence()
		key := survey.TallyKey(bucket)
		sealed := o.seal(key, next.Encode())
		o.rows.note(schema.Meta.Name, key, sealed)
		if err := meta.Put(key, sealed); err != nil {
			return nil, fmt.Errorf("store: tally of %s: %w", bucket, err)
		}
		changed[bucket] = next
	}
	return changed, nil
}

// bbolt never splits a page without leaving three of its records to the right half. Where
// each commit adds one record of some hundred bytes, that leaves pages of four or five
// records half empty for good. Three keys without content, the guards, therefore stand
// behind the last record of a series. They move to the right half, and the page that is
// left behind is as full as possible. Readers never see them.
// guard puts the guards behind the series of key, unless they are there already.
func (tx *Tx) guard(b *opened, key []byte) error {
	declared := b.declared
	if b.guarded {
		return nil
	}
	b.guarded = declared.Series == 0
	last := append(bytes.Clone(key[:min(declared.Series, len(key))]), bytes.Repeat([]byte{0xFF}, schema.GuardTail)...)
	if b.Get(last) != nil {
		return nil
	}
	for n := schema.FirstGuard; n <= 0xFF; n++ {
		last[len(last)-1] = byte(n)
		sealed := tx.openings.seal(last, nil)
		tx.replaced(b, last, b.replacedBy(last), sealed)
		tx.openings.rows.note(declared.Name, last, sealed)
		if err := b.Put(last, sealed); err != nil {
			return fmt.Errorf("store: put the guards of %s key %x: %w", declared.Name, key, err)
		}
	}
	return nil
}
