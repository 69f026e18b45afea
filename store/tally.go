package store

import (
	"encoding/binary"
	"fmt"
	"maps"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// bbolt's own records of a bucket, where its pages begin and which number it
// gave last, have no checksum: one flipped bit can make a bucket an older or an
// empty one. So each commit notes in meta what the buckets that it changed are
// to hold, and the next start holds the file against it. The same records are
// the list of the buckets that the file was made with.

// tally is what a bucket is to hold.
type tally struct {
	rows     uint64
	sum      uint64 // of the digests of all records
	sequence uint64 // the number given last
	// vague tells that sum is not to be trusted, because a damaged record was
	// replaced, whose digest was not that of the record once written.
	vague bool
}

const tallyPrefix = "bucket/"

func tallyKey(bucket string) []byte { return []byte(tallyPrefix + bucket) }

// tallied returns the bucket whose tally the meta record with this key is.
func tallied(key []byte) (bucket string, is bool) {
	return strings.CutPrefix(string(key), tallyPrefix)
}

func (t tally) encode() []byte {
	vague := byte(0)
	if t.vague {
		vague = 1
	}
	return Key(t.rows, t.sum, t.sequence, vague)
}

func decodeTally(raw []byte) (t tally, ok bool) {
	if len(raw) != 25 {
		return t, false
	}
	e := binary.BigEndian
	return tally{rows: e.Uint64(raw), sum: e.Uint64(raw[8:]), sequence: e.Uint64(raw[16:]), vague: raw[24] == 1}, true
}

// digest maps a record's checksum, which covers key and value, so that sums of
// digests differ where the records do.
func digest(sealed []byte) uint64 {
	if len(sealed) < checksumSize {
		return 0
	}
	x := uint64(binary.BigEndian.Uint32(sealed)) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (t *tally) add(sealed []byte) {
	t.rows++
	t.sum += digest(sealed)
}

// changes are what a transaction changes of the tallies. All arithmetic wraps
// around, so that a difference is a number like any other.
type changes map[string]*tally

// changed returns the change of one bucket, which is written with the commit.
func (tx *Tx) changed(bucket string) *tally {
	c := tx.changes[bucket]
	if c == nil {
		if tx.changes == nil {
			tx.changes = changes{}
		}
		c = &tally{}
		tx.changes[bucket] = c
	}
	return c
}

// replaced notes that the record old, nil for none, becomes the record sealed,
// nil for none.
func (tx *Tx) replaced(bucket string, key, old, sealed []byte) {
	t := tx.changed(bucket)
	if old != nil {
		t.rows--
		t.sum -= digest(old)
		if _, ok := verify(key, old); !ok {
			t.vague = true
			tx.healed = append(tx.healed, recordName(bucket, key))
		}
	}
	if sealed != nil {
		t.add(sealed)
	}
}

func (c changes) merge(other changes) {
	for bucket, t := range other {
		sum := c[bucket]
		if sum == nil {
			sum = &tally{}
			c[bucket] = sum
		}
		sum.rows += t.rows
		sum.sum += t.sum
		sum.vague = sum.vague || t.vague
	}
}

// tallies are those of the file's buckets by name.
type tallies map[string]tally

// write puts the changed tallies into the commit of btx and returns them.
func (t tallies) write(btx *bolt.Tx, c changes) (tallies, error) {
	changed := make(tallies, len(c))
	meta := btx.Bucket([]byte(metaBucket.Name))
	for bucket, change := range c {
		next := t[bucket]
		next.rows += change.rows
		next.sum += change.sum
		next.vague = next.vague || change.vague
		next.sequence = btx.Bucket([]byte(bucket)).Sequence()
		key := tallyKey(bucket)
		if err := meta.Put(key, seal(key, next.encode())); err != nil {
			return nil, fmt.Errorf("store: tally of %s: %w", bucket, err)
		}
		changed[bucket] = next
	}
	return changed, nil
}

// apply takes over what write returned, once it is on the disk.
func (t tallies) apply(changed tallies) {
	maps.Copy(t, changed)
}
