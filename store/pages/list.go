package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// freeListPage is the kind of a page with the list of free pages.
const freeListPage = 16

// Transaction returns the number of the transaction that made the state.
func (f *File) Transaction() uint64 { return f.head.tx }

// HasList reports whether the state includes the list of its free pages.
func (f *File) HasList() bool { return f.head.list != noList }

// ListSum returns the checksum of the list of free pages. bbolt keeps none, and would
// overwrite pages that a wrong list calls free.
func (f *File) ListSum() (uint32, error) {
	if id := f.head.list; id < 2 || id >= f.head.pages {
		return 0, errors.New("the file has no list of its free pages")
	}
	data := make([]byte, f.size(0))
	at := int64(f.head.list) * f.size(0)
	if _, err := f.r.ReadAt(data, at); err != nil {
		return 0, err
	}
	p := decodePage(data)
	if p.id != f.head.list || p.flags != freeListPage || p.id+uint64(p.overflow) >= f.head.pages {
		return 0, fmt.Errorf("page %d is no list of free pages", f.head.list)
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	_, err := io.Copy(sum, io.NewSectionReader(f.r, at, f.size(p.overflow)))
	return sum.Sum32(), err
}

// DropList removes the list, so that bbolt determines the free pages itself by walking
// through the file. It writes the newest head; if that write is torn, the previous state
// remains.
func (f *File) DropList(w io.WriterAt) error {
	var raw [headSize]byte
	if _, err := f.r.ReadAt(raw[:], f.head.at); err != nil {
		return err
	}
	e := binary.NativeEndian
	e.PutUint64(raw[32:], noList)
	sealHead(raw[:])
	if _, err := w.WriteAt(raw[:], f.head.at); err != nil {
		return err
	}
	f.head.list = noList
	return nil
}
