package survey

import (
	"encoding/binary"
	"strings"

	"postern/store/schema"
)

// bbolt's own records of a bucket, the place where its pages begin and the number given
// last, have no checksum: one flipped bit can turn a bucket into an older or an empty
// one. Each commit therefore notes in meta what the buckets that it changed must contain,
// and the next start compares the file with it. The same records list the buckets that
// the file was made with.

// Tally is the expected contents of a bucket.
type Tally struct {
	Rows     uint64
	Sum      uint64 // of the digests of all records
	Sequence uint64 // the number given last
	// Vague says that Sum is not reliable, because a damaged record was replaced and its
	// digest was not that of the record once written.
	Vague bool
}

const tallyPrefix = "bucket/"

// TallyKey returns the key of the tally of a bucket, in meta.
func TallyKey(bucket string) []byte { return []byte(tallyPrefix + bucket) }

// Tallied returns the bucket whose tally is in the meta record with this key.
func Tallied(key []byte) (bucket string, is bool) {
	return strings.CutPrefix(string(key), tallyPrefix)
}

// Encode returns the value of the record in meta.
func (t Tally) Encode() []byte {
	vague := byte(0)
	if t.Vague {
		vague = 1
	}
	e := binary.BigEndian
	return append(e.AppendUint64(e.AppendUint64(e.AppendUint64(make([]byte, 0, 25), t.Rows), t.Sum), t.Sequence), vague)
}

// DecodeTally decodes the value of a tally; ok is false for anything else.
func DecodeTally(raw []byte) (t Tally, ok bool) {
	if len(raw) != 25 {
		return t, false
	}
	e := binary.BigEndian
	return Tally{Rows: e.Uint64(raw), Sum: e.Uint64(raw[8:]), Sequence: e.Uint64(raw[16:]), Vague: raw[24] == 1}, true
}

// Digest maps a record's checksum, which covers key and value, so that the sums of
// digests differ if the records do.
func Digest(sealed []byte) uint64 {
	if len(sealed) < schema.ChecksumSize {
		return 0
	}
	x := uint64(binary.BigEndian.Uint32(sealed)) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Add counts a sealed record.
func (t *Tally) Add(sealed []byte) {
	t.Rows++
	t.Sum += Digest(sealed)
}

// Tallies holds tallies by the names of their buckets.
type Tallies map[string]Tally
