package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"postern/internal/plural"
)

// File is a bbolt file at its newest state. It is not safe for concurrent use.
type File struct {
	r    io.ReaderAt
	head *head
	used uint64
	seen []uint64 // a bit for each page that a Walk met

	// Mends are bytes of the head pages to be repaired before bbolt reads them: otherwise
	// bbolt would return to the state before the last commit.
	Mends []Mend
	// HeadLost says that one of the two head pages cannot be read. If that was the newer
	// one, this is the state before the last commit.
	HeadLost bool
}

// Fault is one damage of the file's pages, and what cannot be reached because of it.
type Fault struct {
	Page   uint64
	Bucket string // empty: the root
	What   string
	// Misplaced says that all records are still there and only their order is damaged.
	// Otherwise the records from the key From up to Before are lost, where nil is the
	// bucket's beginning or end.
	Misplaced    bool
	From, Before []byte

	// Mend repairs the fault if that takes one bit; otherwise nil.
	Mend *Mend
}

// Error describes the fault.
func (f *Fault) Error() string {
	if f.Bucket == "" {
		return fmt.Sprintf("page %d: %s", f.Page, f.What)
	}
	return fmt.Sprintf("page %d of bucket %s: %s", f.Page, f.Bucket, f.What)
}

// Cost describes what cannot be reached, or returns "" if nothing is lost.
func (f *Fault) Cost() string {
	switch {
	case f.Misplaced:
		return ""
	case f.Bucket == "":
		return "all buckets behind it"
	case f.From == nil && f.Before == nil:
		return "all records of " + f.Bucket
	case f.Before == nil:
		return fmt.Sprintf("the records of %s from key %x on", f.Bucket, f.From)
	case f.From == nil:
		return fmt.Sprintf("the records of %s before key %x", f.Bucket, f.Before)
	default:
		return fmt.Sprintf("the records of %s from key %x up to key %x", f.Bucket, f.From, f.Before)
	}
}

// Open finds the newest state of a bbolt file of size bytes. The error is ErrForeign, or
// a *Fault if no state can be found.
func Open(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r}
	heads := f.heads()
	if len(heads) == 0 {
		if f.isBolt() {
			return nil, &Fault{What: "both head pages are damaged"}
		}
		return nil, ErrForeign
	}
	for _, h := range heads {
		if h.mend != nil {
			f.Mends = append(f.Mends, *h.mend)
		}
		if f.head == nil || h.tx > f.head.tx {
			f.head = h
		}
	}
	f.HeadLost = len(heads) < 2
	if h := f.head; h.pages > uint64(size)/uint64(h.pageSize) {
		return nil, &Fault{Page: uint64(size) / uint64(h.pageSize), What: fmt.Sprintf("the file was cut off: %d bytes of %d", size, h.pages*uint64(h.pageSize))}
	}
	return f, nil
}

// ReadFrom makes later reads use r, which must be the same file.
func (f *File) ReadFrom(r io.ReaderAt) { f.r = r }

// Pages returns the number of pages of the state, including free ones.
func (f *File) Pages() uint64 { return f.head.pages }

// Used returns the number of them that a Walk reached, including the two heads.
func (f *File) Used() uint64 { return 2 + f.used }

// Holds reports whether a Walk reached the page, so that it is in use.
func (f *File) Holds(id uint64) bool {
	return id < 2 || id/64 < uint64(len(f.seen)) && f.seen[id/64]&(1<<(id%64)) != 0
}

// PageSize returns the size of a page in bytes.
func (f *File) PageSize() int { return int(f.head.pageSize) }

// size returns the bytes of a page with overflow further pages.
func (f *File) size(overflow uint32) int64 {
	return (1 + int64(overflow)) * int64(f.head.pageSize)
}

// fits compares the bytes that a page uses with the size that it claims.
func (f *File) fits(p page, used int64) error {
	if pages := (used + f.size(0) - 1) / f.size(0); pages != 1+int64(p.overflow) {
		return fmt.Errorf("it says that it takes %s, and its elements need %d", plural.Of(1+int64(p.overflow), "page"), pages)
	}
	return nil
}

// Kinds of pages and of leaf elements.
const (
	branchPage = 1
	leafPage   = 2

	bucketElement = 1
)

const (
	pageHeader    = 16
	elementHeader = 16 // of branches and leaves
	bucketHeader  = 16 // root page and sequence
)

// page is one page, or the page that a small bucket has inside its value.
type page struct {
	id       uint64
	flags    uint16
	count    int
	overflow uint32
	data     []byte // including the header
	at       int64  // where data lies in the file
}

func decodePage(data []byte) page {
	e := binary.NativeEndian
	return page{id: e.Uint64(data), flags: e.Uint16(data[8:]), count: int(e.Uint16(data[10:])), overflow: e.Uint32(data[12:]), data: data}
}

// element is one element of a page: of a leaf with a value, of a branch with
// the page that it points to.
type element struct {
	flags      uint32
	child      uint64
	key, value []byte
	at         int64 // where the key lies in the page; the value follows it
}

// elements appends the page's elements to all and returns the bytes that the page uses.
func (p *page) elements(all []element) ([]element, int64, error) {
	at := pageHeader + int64(p.count)*elementHeader
	if at > int64(len(p.data)) {
		return nil, 0, errors.New("it has more elements than room")
	}
	for i := range p.count {
		el, end, err := p.element(i, at)
		if err != nil {
			return nil, 0, err
		}
		all, at = append(all, el), end
	}
	return all, at, nil
}

// uses adds up the sizes in the page's element headers. Only the headers need to be
// loaded.
func (p *page) uses() (used int64, err error) {
	used = pageHeader + int64(p.count)*elementHeader
	if used > int64(len(p.data)) {
		return 0, errors.New("it has more elements than room")
	}
	for i := range p.count {
		_, key, value := p.sizes(p.data[pageHeader+i*elementHeader:])
		used += key + value
	}
	return used, nil
}

// sizes decodes an element's header: the position of its key, relative to the header, and
// the lengths of key and value.
func (p *page) sizes(h []byte) (pos, key, value int64) {
	e := binary.NativeEndian
	if p.flags == leafPage {
		return int64(e.Uint32(h[4:])), int64(e.Uint32(h[8:])), int64(e.Uint32(h[12:]))
	}
	return int64(e.Uint32(h)), int64(e.Uint32(h[4:])), 0
}

// element decodes the element with index i, whose key must lie at offset at, and returns
// the offset of its end.
func (p *page) element(i int, at int64) (el element, end int64, err error) {
	header := pageHeader + i*elementHeader
	h := p.data[header : header+elementHeader]
	if p.flags == leafPage {
		el.flags = binary.NativeEndian.Uint32(h)
	} else {
		el.child = binary.NativeEndian.Uint64(h[8:])
	}
	pos, key, value := p.sizes(h)
	end = at + key + value
	switch {
	case int64(header)+pos != at:
		return el, 0, fmt.Errorf("element %d does not lie behind the one before it", i)
	case key == 0:
		return el, 0, fmt.Errorf("element %d has no key", i)
	case end > int64(len(p.data)):
		return el, 0, fmt.Errorf("element %d goes beyond the page", i)
	}
	el.at, el.key = at, p.data[at:at+key]
	el.value = p.data[at+key : end]
	return el, end, nil
}
