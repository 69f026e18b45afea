package store

import (
	"encoding/binary"
	"fmt"
	"maps"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// bbolt's own records of a bucket, the place where its pages begin and the number given
// last, have no checksum: one flipped bit can turn a bucket into an older or an empty
// one. Each commit therefore notes in meta what the buckets that it changed must contain,
// and the next start compares the file with it. The same records list the buckets that
// the file was made with.

// tally is the expected contents of a bucket.
type tally struct {
	rows     uint64
	sum      uint64 // of the digests of all records
	sequence uint64 // the number given last
	// vague says that sum is not reliable, because a damaged record was replaced and its
	// digest was not that of the record once written.
	vague bool
}

const tallyPrefix = "bucket/"

func tallyKey(bucket string) []byte { return []byte(tallyPrefix + bucket) }

// tallied returns the bucket whose tally is in the meta record with this key.
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

// digest maps a record's checksum, which covers key and value, so that the sums of
// digests differ if the records do.
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

// replaced notes that the record old becomes the record sealed; nil stands for no record.
func (tx *Tx) replaced(b *opened, key, old, sealed []byte) {
	b.changed = true
	if old != nil {
		b.change.rows--
		b.change.sum -= digest(old)
		if _, ok := verify(key, old); !ok {
			b.change.vague = true
			tx.healed = append(tx.healed, recordName(b.declared.Name, key))
		}
	}
	if sealed != nil {
		b.change.add(sealed)
	}
}

// tallies holds the tallies of the file's buckets by name.
type tallies map[string]tally

// write puts the tallies of the buckets that btx changed into its commit and
// returns them.
func (t tallies) write(btx *bolt.Tx, o *openings) (tallies, error) {
	changed := make(tallies, len(o.all))
	meta := btx.Bucket([]byte(metaBucket.Name))
	for _, b := range o.all {
		if !b.changed {
			continue
		}
		bucket := b.declared.Name
		next := t[bucket]
		next.rows += b.change.rows
		next.sum += b.change.sum
		next.vague = next.vague || b.change.vague
		next.sequence = b.Sequence()
		key := tallyKey(bucket)
		sealed := o.seal(key, next.encode())
		o.rows.note(metaBucket.Name, key, sealed)
		if err := meta.Put(key, sealed); err != nil {
			return nil, fmt.Errorf("store: tally of %s: %w", bucket, err)
		}
		changed[bucket] = next
	}
	return changed, nil
}

// apply adopts what write returned, once that is on disk.
func (t tallies) apply(changed tallies) {
	maps.Copy(t, changed)
}
