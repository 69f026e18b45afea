package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"postern/internal/plural"
)

// Visitor receives the contents of a file, in the order of the buckets' names and of the
// keys within each. Arguments are valid during the call only; an error ends the walk.
type Visitor struct {
	Bucket func(name string, sequence uint64) error
	Record func(Record) error
	// Page is called with the number of pages that each page of a bucket spans; nil: no
	// call.
	Page func(pages int)
	// Skip reports whether a bucket is not to be read; nil: none.
	Skip func(name string) bool
}

// Record is a record as it lies in the file.
type Record struct {
	Key, Value []byte
	At         int64 // offset of the key in the file; the value follows it
	Sizes      int64 // offset of the sizes of key and value, four bytes each
	// Room is the bytes that key and value could take if their sizes were different. It
	// is more than they have only in the last record of a page, whose end nothing else
	// determines.
	Room []byte
}

// Walk reads the whole state and returns its faults; it leaves out what lies behind them.
// Its memory is the longest path from the root to a leaf and one bit a page. The error is
// the visitor's.
func (f *File) Walk(v Visitor) ([]*Fault, error) {
	w := &walk{file: f, visitor: v, seen: make([]uint64, f.head.pages/64+1)}
	w.tree(f.head.root, 0, edge{}, nil)
	f.used, f.seen = w.used, w.seen
	return w.faults, w.err
}

// maxDepth bounds the path from the root to a leaf: bbolt's trees have three or four
// levels with a thousand million records.
const maxDepth = 64

type walk struct {
	file    *File
	visitor Visitor
	header  func(name string, value []byte) error // is called with each bucket's header; nil: no call
	seen    []uint64                              // a bit a page
	used    uint64                                // the number of pages in seen
	levels  [maxDepth]level
	faults  []*Fault
	err     error

	bucket string // empty in the root
	last   []byte // the previous key
}

// level is the memory into which one step of the path is read.
type level struct {
	data     []byte
	elements []element
}

func (w *walk) fault(f Fault) {
	f.Bucket = w.bucket
	f.From, f.Before = bytes.Clone(f.From), bytes.Clone(f.Before)
	w.faults = append(w.faults, &f)
}

// edge is a key by which a branch refers to a page, and where it lies in the file. The
// zero edge is the beginning of a bucket.
type edge struct {
	key []byte
	at  int64
}

// mend returns the repair that makes the edge equal to the first key of its page, if that
// takes one bit.
func (e edge) mend(begins []byte) *Mend {
	var m *Mend
	if len(e.key) != len(begins) {
		return nil
	}
	for i := range begins {
		switch bits.OnesCount8(e.key[i] ^ begins[i]) {
		case 0:
		case 1:
			if m != nil {
				return nil
			}
			m = &Mend{e.at + int64(i), begins[i]}
		default:
			return nil
		}
	}
	return m
}

// tree walks the page with the given number and the pages below it. first is the key with
// which it begins, and before the key of its right neighbour, or nil at the end of the
// bucket.
func (w *walk) tree(id uint64, depth int, first edge, before []byte) {
	p, elements, err := w.read(id, depth)
	if err != nil {
		w.fault(Fault{Page: id, What: err.Error(), From: first.key, Before: before})
		return
	}
	if len(elements) == 0 && (first.key != nil || p.flags == branchPage) {
		w.fault(Fault{Page: id, What: "it is empty", From: first.key, Before: before})
		return
	}
	if first.key != nil && !bytes.Equal(first.key, elements[0].key) {
		w.fault(Fault{Page: id, What: "it does not begin with the key by which it is found", Misplaced: true, Mend: first.mend(elements[0].key)})
	}
	if p.flags == leafPage {
		w.leaf(p, elements, depth)
		return
	}
	for i := range elements {
		end := before
		if i+1 < len(elements) {
			end = elements[i+1].key
		}
		w.tree(elements[i].child, depth+1, edge{elements[i].key, p.at + elements[i].at}, end)
		if w.err != nil {
			return
		}
	}
}

// read reads a page of a tree and checks everything in it that the page alone determines.
func (w *walk) read(id uint64, depth int) (page, []element, error) {
	if depth >= maxDepth {
		return page{}, nil, fmt.Errorf("it lies %d levels below the root", depth)
	}
	l := &w.levels[depth]
	l.data = grow(l.data, w.file.size(0))
	p, err := w.file.load(id, l.data)
	if err == nil && p.overflow > 0 {
		p, err = w.file.loadAll(p, l)
	}
	if err != nil {
		return p, nil, err
	}
	if err := w.claim(id, p.overflow); err != nil {
		return p, nil, err
	}
	elements, used, err := p.elements(l.elements[:0])
	if err == nil {
		err = w.file.fits(p, used)
	}
	if err != nil {
		return p, nil, err
	}
	l.elements = elements
	return p, elements, nil
}

// loadAll reads a page whose first part is known. It checks the sizes first, so that a
// wrong one cannot make it allocate memory.
func (f *File) loadAll(p page, l *level) (page, error) {
	headers := pageHeader + int64(p.count)*elementHeader
	l.data = grow(l.data, min(headers+f.size(0)-headers%f.size(0), f.size(p.overflow)))
	p, err := f.load(p.id, l.data)
	if err != nil {
		return p, err
	}
	used, err := p.uses()
	if err == nil {
		err = f.fits(p, used)
	}
	if err != nil {
		return p, err
	}
	l.data = grow(l.data, f.size(p.overflow))
	return f.load(p.id, l.data)
}

func grow(b []byte, size int64) []byte {
	if int64(cap(b)) < size {
		return make([]byte, size)
	}
	return b[:size]
}

// load fills data with the page and the pages behind it.
func (f *File) load(id uint64, data []byte) (page, error) {
	if id < 2 || id >= f.head.pages {
		return page{}, fmt.Errorf("there is no such page, the file has %d", f.head.pages)
	}
	if _, err := f.r.ReadAt(data, int64(id)*f.size(0)); err != nil {
		return page{}, fmt.Errorf("it cannot be read: %w", err)
	}
	p := decodePage(data)
	p.at = int64(id) * f.size(0)
	switch {
	case p.id != id:
		return p, fmt.Errorf("it says that it is page %d", p.id)
	case p.flags != leafPage && p.flags != branchPage:
		return p, fmt.Errorf("it is neither a leaf nor a branch")
	case id+uint64(p.overflow) >= f.head.pages:
		return p, fmt.Errorf("it says that it takes %s, and the file has %d", plural.Of(1+int64(p.overflow), "page"), f.head.pages)
	}
	return p, nil
}

// claim notes that a page was reached, and returns an error if it was reached before.
func (w *walk) claim(id uint64, overflow uint32) error {
	for n := id; n <= id+uint64(overflow); n++ {
		if w.seen[n/64]&(1<<(n%64)) != 0 {
			return fmt.Errorf("two ways lead to it")
		}
		w.seen[n/64] |= 1 << (n % 64)
	}
	w.used += 1 + uint64(overflow)
	if w.bucket != "" && w.visitor.Page != nil {
		w.visitor.Page(1 + int(overflow))
	}
	return nil
}

// leaf reports the records of a leaf. In the root, it walks the buckets that the leaf
// holds.
func (w *walk) leaf(p page, elements []element, depth int) {
	if w.bucket == "" {
		w.buckets(p, elements, depth)
		return
	}
	misplaced := false
	for i := range elements {
		el := &elements[i]
		if el.flags != 0 {
			w.fault(Fault{Page: p.id, What: fmt.Sprintf("element %d is no record", i), From: el.key, Before: after(el.key)})
			continue
		}
		if bytes.Compare(w.last, el.key) >= 0 && !misplaced {
			misplaced = true
			w.fault(Fault{Page: p.id, What: fmt.Sprintf("the key of element %d is not in order", i), Misplaced: true})
		}
		w.last = append(w.last[:0], el.key...)
		r := Record{Key: el.key, Value: el.value, At: p.at + el.at, Sizes: p.at + pageHeader + int64(i)*elementHeader + 8}
		r.Room = p.data[el.at : el.at+int64(len(el.key)+len(el.value))]
		if i == len(elements)-1 {
			r.Room = p.data[el.at:]
		}
		if w.err = w.visitor.Record(r); w.err != nil {
			return
		}
	}
}

// after returns the smallest key greater than key.
func after(key []byte) []byte { return append(bytes.Clone(key), 0) }

func (w *walk) buckets(p page, elements []element, depth int) {
	var last []byte
	for i := range elements {
		el := &elements[i]
		if bytes.Compare(last, el.key) >= 0 {
			w.fault(Fault{Page: p.id, What: fmt.Sprintf("the name of element %d is not in order", i), Misplaced: true})
		}
		last = el.key
		if el.flags != bucketElement || len(el.value) < bucketHeader {
			w.fault(Fault{Page: p.id, What: fmt.Sprintf("element %d is no bucket", i)})
			continue
		}
		if w.header != nil {
			if w.err = w.header(string(el.key), el.value); w.err != nil {
				return
			}
		}
		if w.visitor.Skip != nil && w.visitor.Skip(string(el.key)) {
			continue
		}
		w.bucket, w.last = string(el.key), w.last[:0]
		w.inside(p.id, el.value, p.at+el.at+int64(len(el.key)), depth+1)
		w.bucket = ""
		if w.err != nil {
			return
		}
	}
}

// inside walks one bucket: the tree that its header points to, or the page behind the
// header. value lies at the offset at.
func (w *walk) inside(id uint64, value []byte, at int64, depth int) {
	root, sequence := binary.NativeEndian.Uint64(value), binary.NativeEndian.Uint64(value[8:])
	if w.err = w.visitor.Bucket(w.bucket, sequence); w.err != nil {
		return
	}
	switch {
	case root != 0 && len(value) != bucketHeader:
		w.fault(Fault{Page: id, What: "the bucket has a page of its own and one inside its header"})
	case root != 0:
		w.tree(root, depth, edge{}, nil)
	case len(value) < bucketHeader+pageHeader:
		w.fault(Fault{Page: id, What: "the bucket's header is cut off"})
	default:
		w.inline(id, value[bucketHeader:], at+bucketHeader, depth)
	}
}

func (w *walk) inline(id uint64, data []byte, at int64, depth int) {
	p := decodePage(data)
	p.at = at
	if p.id != 0 || p.flags != leafPage || p.overflow != 0 {
		w.fault(Fault{Page: id, What: "the page inside the bucket's header is no leaf"})
		return
	}
	elements, used, err := p.elements(w.levels[depth].elements[:0])
	if err == nil && used != int64(len(data)) {
		err = fmt.Errorf("its elements need %d bytes of %d", used, len(data))
	}
	if err != nil {
		w.fault(Fault{Page: id, What: "inside the bucket's header: " + err.Error()})
		return
	}
	w.levels[depth].elements = elements
	p.id = id
	w.leaf(p, elements, depth)
}
