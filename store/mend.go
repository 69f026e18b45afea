package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"

	"postern/store/pages"
)

// A flipped bit in the key, the checksum or the sizes of a record loses no information:
// only one bit makes the checksum fit again. Bits of values are not guessed, since among
// the many bits of a long value one would sooner or later fit by chance.

// mendable is the longest record whose key is searched for a flipped bit.
const mendable = 1 << 20

// mendOf returns the bit that makes a damaged record whole, or nil if there is none.
func mendOf(r pages.Record) *pages.Mend {
	if len(r.Value) > mendable {
		return nil
	}
	if m := mendSizes(r); m != nil || len(r.Value) < checksumSize {
		return m
	}
	value, stored := r.Value[checksumSize:], binary.BigEndian.Uint32(r.Value)
	right := checksum(r.Key, value)
	if wrong := stored ^ right; bits.OnesCount32(wrong) == 1 {
		i := bits.LeadingZeros32(wrong) / 8
		return &pages.Mend{Offset: r.At + int64(len(r.Key)+i), Byte: byte(right >> (24 - 8*i))}
	}
	had := bytes.Clone(r.Key)
	for bit := range 8 * len(had) {
		had[bit/8] ^= 1 << (bit % 8)
		if checksum(had, value) == stored {
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
			if _, whole := verify(r.Room[:key], r.Room[key:key+value]); whole {
				return &pages.Mend{Offset: r.Sizes + int64(bit/8), Byte: sizes[bit/8]}
			}
		}
		sizes[bit/8] ^= 1 << (bit % 8)
	}
	return nil
}

// maxPasses bounds how often the file is mended and surveyed again: first head pages and
// records, then the branches above them.
const maxPasses = 3

// surveyed reads the file and decides whether it may be opened. It first repairs the
// flipped bits that are known with certainty. Each repair writes one byte, so that a
// crash in between causes no new damage.
func surveyed(f *os.File, sch schema) (*survey, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%w (it is a folder)", ErrForeign)
	case info.Size() == 0:
		return nil, fmt.Errorf("%w (it is empty)", ErrForeign)
	}
	if found := unread(f, info.Size(), sch); found != nil {
		return found, nil
	}
	var mended []string
	for range maxPasses {
		found, err := readSurvey(f, info.Size())
		if err != nil {
			return nil, err
		}
		found.mended = mended
		if err := found.identify(sch); err != nil {
			return nil, err
		}
		what, mends := found.mends()
		if len(mends) == 0 {
			if err := found.judge(sch); err != nil {
				return nil, err
			}
			return found, found.dropList(f)
		}
		for _, m := range mends {
			if _, err := f.WriteAt([]byte{m.Byte}, m.Offset); err != nil {
				return nil, fmt.Errorf("put a flipped bit right: %w", err)
			}
		}
		if err := f.Sync(); err != nil {
			return nil, fmt.Errorf("put a flipped bit right: %w", err)
		}
		mended = append(mended, what...)
	}
	return nil, fmt.Errorf("%w: flipped bits cannot be put right, they come back", ErrCorrupt)
}

// mends returns the bytes to repair and what they belong to. Those of branches come last,
// because a branch is compared with the key of a record.
func (s *survey) mends() (what []string, all []pages.Mend) {
	for _, m := range s.file.Mends {
		what, all = append(what, "a head page"), append(all, m)
	}
	for _, d := range s.damaged {
		if d.mend != nil {
			what, all = append(what, "record "+d.String()), append(all, *d.mend)
		}
	}
	if len(all) > 0 {
		return what, all
	}
	for _, f := range s.faults {
		if f.Mend != nil {
			what, all = append(what, f.Error()), append(all, *f.Mend)
		}
	}
	return what, all
}
