package survey

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"postern/store/pages"
	"postern/store/schema"
)

// A flipped bit in the key, the checksum or the sizes of a record loses no information:
// only one bit makes the checksum fit again. Bits of values are not guessed, since among
// the many bits of a long value one would sooner or later fit by chance.

// mendable is the longest record whose key is searched for a flipped bit.
const mendable = 1 << 20

// MendOf returns the bit that makes a damaged record whole, or nil if there is none.
func MendOf(r pages.Record) *pages.Mend {
	if len(r.Value) > mendable {
		return nil
	}
	if m := mendSizes(r); m != nil || len(r.Value) < schema.ChecksumSize {
		return m
	}
	value, stored := r.Value[schema.ChecksumSize:], binary.BigEndian.Uint32(r.Value)
	right := schema.Checksum(r.Key, value)
	if wrong := stored ^ right; bits.OnesCount32(wrong) == 1 {
		i := bits.LeadingZeros32(wrong) / 8
		return &pages.Mend{Offset: r.At + int64(len(r.Key)+i), Byte: byte(right >> (24 - 8*i))}
	}
	had := bytes.Clone(r.Key)
	for bit := range 8 * len(had) {
		had[bit/8] ^= 1 << (bit % 8)
		if schema.Checksum(had, value) == stored {
			return &pages.Mend{Offset: r.At + int64(bit/8), Byte: had[bit/8]}
		}
		had[bit/8] ^= 1 << (bit % 8)
	}
	return nil
}

// mendSizes is mendOf for the sizes of the last record of a page. The sizes of other
// records follow from the record behind them.
func mendSizes(r pages.Record) *pages.Mend {
	var sizes [8]byte
	native := binary.NativeEndian
	native.PutUint32(sizes[:], uint32(len(r.Key)))
	native.PutUint32(sizes[4:], uint32(len(r.Value)))
	for bit := range 8 * len(sizes) {
		sizes[bit/8] ^= 1 << (bit % 8)
		key, value := int64(native.Uint32(sizes[:])), int64(native.Uint32(sizes[4:]))
		if key > 0 && value <= mendable && key+value <= int64(len(r.Room)) {
			if _, whole := schema.Verify(r.Room[:key], r.Room[key:key+value]); whole {
				return &pages.Mend{Offset: r.Sizes + int64(bit/8), Byte: sizes[bit/8]}
			}
		}
		sizes[bit/8] ^= 1 << (bit % 8)
	}
	return nil
}

// Mends returns the bytes to repair and what they belong to. Those of branches come last,
// because a branch is compared with the key of a record.
func (s *Survey) Mends() (what []string, all []pages.Mend) {
	for _, m := range s.File.Mends {
		what, all = append(what, "a head page"), append(all, m)
	}
	for _, d := range s.Damaged {
		if d.Mend != nil {
			what, all = append(what, "record "+d.String()), append(all, *d.Mend)
		}
	}
	if len(all) > 0 {
		return what, all
	}
	for _, f := range s.Faults {
		if f.Mend != nil {
			what, all = append(what, f.Error()), append(all, *f.Mend)
		}
	}
	return what, all
}
