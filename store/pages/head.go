package pages

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
)

// ErrForeign is the error for a file that is no bbolt file.
var ErrForeign = errors.New("not a bbolt file")

// Layout of the two head pages: a page header, then magic, version, page size,
// flags, the root bucket (page and sequence), the page of the free list, the
// number of pages, the transaction, and an FNV-64a of all that.
const (
	magic       = 0xED0CDAED
	version     = 2
	headOffset  = 16
	headSize    = 64
	headSummed  = headSize - 8
	minPageSize = 512
	maxPageSize = 1 << 20
)

// head is the content of a head page.
type head struct {
	pageSize uint32
	root     uint64
	list     uint64 // the page of the free list
	pages    uint64 // of the file, the free ones included
	tx       uint64
	at       int64 // where it lies in the file
	mend     *Mend
}

// headPage is the kind of a head page.
const headPage = 4

// noList stands in a head in place of the page of a free list that is not in the file.
const noList = 1<<64 - 1

// Mend is a byte of a head page in which a bit was flipped, and its right value. It is
// the only damage that the checksum can undo.
type Mend struct {
	Offset int64
	Byte   byte
}

// heads reads both head pages and leaves out unreadable ones.
func (f *File) heads() (found []*head) {
	if first := f.headAt(0); first != nil {
		found = append(found, first)
		if second := f.headAt(int64(first.pageSize)); second != nil {
			found = append(found, second)
		}
		return found
	}
	for size := int64(minPageSize); size <= maxPageSize; size *= 2 {
		if second := f.headAt(size); second != nil && int64(second.pageSize) == size {
			return []*head{second}
		}
	}
	return nil
}

// headAt reads the head of the page at offset. It returns nil if more than one bit is
// damaged.
func (f *File) headAt(offset int64) *head {
	var raw [headSize]byte
	offset += headOffset
	if _, err := f.r.ReadAt(raw[:], offset); err != nil {
		return nil
	}
	if h := decodeHead(raw[:]); h != nil {
		h.at = offset
		return h
	}
	for bit := range 8 * headSize {
		raw[bit/8] ^= 1 << (bit % 8)
		if h := decodeHead(raw[:]); h != nil {
			h.at, h.mend = offset, &Mend{offset + int64(bit/8), raw[bit/8]}
			return h
		}
		raw[bit/8] ^= 1 << (bit % 8)
	}
	return nil
}

func decodeHead(raw []byte) *head {
	e := binary.NativeEndian
	if e.Uint32(raw) != magic || e.Uint32(raw[4:]) != version {
		return nil
	}
	sum := fnv.New64a()
	_, _ = sum.Write(raw[:headSummed])
	h := &head{pageSize: e.Uint32(raw[8:]), root: e.Uint64(raw[16:]), list: e.Uint64(raw[32:]), pages: e.Uint64(raw[40:]), tx: e.Uint64(raw[48:])}
	if sum.Sum64() != e.Uint64(raw[headSummed:]) || h.pageSize < minPageSize || h.pageSize > maxPageSize {
		return nil
	}
	return h
}

// isBolt reports whether one of the possible places of a head looks like one.
func (f *File) isBolt() bool {
	places := []int64{0}
	for size := int64(minPageSize); size <= maxPageSize; size *= 2 {
		places = append(places, size)
	}
	for _, at := range places {
		var raw [4]byte
		if _, err := f.r.ReadAt(raw[:], at+headOffset); err == nil && binary.NativeEndian.Uint32(raw[:]) == magic {
			return true
		}
	}
	return false
}

// WriteHeads writes the heads of a copy of the state. Both are complete, but without a
// list of free pages, which bbolt determines itself.
func (f *File) WriteHeads(w io.WriterAt) error {
	for i := range uint64(2) {
		data := make([]byte, headOffset+headSize)
		if _, err := f.r.ReadAt(data[headOffset:], f.head.at); err != nil {
			return err
		}
		e, raw := binary.NativeEndian, data[headOffset:]
		if decodeHead(raw) == nil {
			return errors.New("the newest head page is damaged")
		}
		id := (f.head.tx - i) % 2 // where bbolt would put it
		e.PutUint64(data, id)
		e.PutUint16(data[8:], headPage)
		e.PutUint64(raw[32:], noList)
		e.PutUint64(raw[48:], f.head.tx-i)
		sealHead(raw)
		if _, err := w.WriteAt(data, int64(id)*f.size(0)); err != nil {
			return err
		}
	}
	return nil
}

// sealHead writes the checksum of a head.
func sealHead(raw []byte) {
	sum := fnv.New64a()
	_, _ = sum.Write(raw[:headSummed])
	binary.NativeEndian.PutUint64(raw[headSummed:], sum.Sum64())
}
