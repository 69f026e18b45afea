package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"

	"postern/migrate/table"
)

// Kinds of pages of a tree of rows.
const (
	interiorPage = 5
	leafPage     = 13
)

// maxDepth is SQLite's own limit of the depth of a tree.
const maxDepth = 20

// walk goes through one tree of rows.
type walk struct {
	f    *File
	what string // the tree, in words
	root uint32
	seen []uint64 // a bit for each page

	last  int64 // the last row id
	began bool
}

func (f *File) walk(what string, root uint32) *walk { return &walk{f: f, what: what, root: root} }

func (w *walk) malformed(page uint32, format string, args ...any) error {
	return fmt.Errorf("%w: page %d, %s: %s", table.ErrMalformed, page, w.what, fmt.Sprintf(format, args...))
}

// each calls fn with each row in the order of the ids, and with the page it is on.
func (w *walk) each(ctx context.Context, fn func(id int64, values []any, page uint32) error) error {
	w.seen = make([]uint64, w.f.head.pages/64+1)
	w.began = false
	return w.tree(ctx, place{w.root, w.root, 1}, fn)
}

// page reads a page that was not read before.
func (w *walk) page(number, from uint32) ([]byte, error) {
	if number < 1 || number > w.f.head.pages {
		return nil, w.malformed(from, "it names page %d, and the file has %d", number, w.f.head.pages)
	}
	bit := uint64(1) << (number % 64)
	if w.seen[number/64]&bit != 0 {
		return nil, w.malformed(from, "it names page %d, which has its place already", number)
	}
	w.seen[number/64] |= bit
	data := make([]byte, w.f.head.pageSize)
	if _, err := w.f.r.ReadAt(data, int64(number-1)*w.f.head.pageSize); err != nil {
		return nil, fmt.Errorf("read page %d: %w", number, err)
	}
	return data[:w.f.head.usable], nil
}

// place is a page of a tree, the page that names it, and how deep it is.
type place struct {
	number, from uint32
	depth        int
}

func (p place) below(number uint32) place { return place{number, p.number, p.depth + 1} }

func (w *walk) tree(ctx context.Context, at place, fn func(int64, []any, uint32) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if at.depth > maxDepth {
		return w.malformed(at.number, "the tree is deeper than %d pages", maxDepth)
	}
	data, err := w.page(at.number, at.from)
	if err != nil {
		return err
	}
	node, err := w.node(at.number, data)
	if err != nil {
		return err
	}
	for i := range node.cells {
		cell, err := node.cell(i)
		if err != nil {
			return err
		}
		if node.leaf {
			err = w.row(ctx, at.number, cell, fn)
		} else if len(cell) < 4 {
			err = w.malformed(at.number, "cell %d is cut off", i)
		} else {
			err = w.tree(ctx, at.below(binary.BigEndian.Uint32(cell)), fn)
		}
		if err != nil {
			return err
		}
	}
	if node.leaf {
		return nil
	}
	return w.tree(ctx, at.below(node.right), fn)
}

// node is a page of a tree.
type node struct {
	w      *walk
	number uint32
	data   []byte
	leaf   bool
	cells  int
	list   int    // where the places of the cells are
	right  uint32 // the last page below; of an interior page
}

func (w *walk) node(number uint32, data []byte) (*node, error) {
	at := 0
	if number == 1 {
		at = headerSize
	}
	n := &node{w: w, number: number, data: data, leaf: data[at] == leafPage, list: at + 8}
	if !n.leaf && data[at] != interiorPage {
		return nil, w.malformed(number, "it is of the kind %d, not a page of rows", data[at])
	}
	n.cells = int(binary.BigEndian.Uint16(data[at+3:]))
	if !n.leaf {
		n.right = binary.BigEndian.Uint32(data[at+8:])
		n.list += 4
	}
	if n.list+2*n.cells > len(data) {
		return nil, w.malformed(number, "it tells of %d cells, more than fit", n.cells)
	}
	return n, nil
}

// cell returns what the page has from the beginning of a cell on.
func (n *node) cell(i int) ([]byte, error) {
	at := int(binary.BigEndian.Uint16(n.data[n.list+2*i:]))
	if at < n.list+2*n.cells || at >= len(n.data) {
		return nil, n.w.malformed(n.number, "cell %d is at byte %d, where none can be", i, at)
	}
	return n.data[at:], nil
}

// row reads a row from its cell: length, id, and what of the payload is here.
func (w *walk) row(ctx context.Context, number uint32, cell []byte, fn func(int64, []any, uint32) error) error {
	length, n := varint(cell)
	id, m := varint(cell[n:])
	if n == 0 || m == 0 {
		return w.malformed(number, "a cell is truncated")
	}
	if w.began && int64(id) <= w.last { //nolint:gosec // row ids are signed
		return w.malformed(number, "row %d comes after row %d", int64(id), w.last) //nolint:gosec // as above
	}
	w.began, w.last = true, int64(id) //nolint:gosec // as above
	if length > table.MaxRow {
		return w.malformed(number, "row %d has %d bytes, more than %d", w.last, length, table.MaxRow)
	}
	payload, err := w.payload(ctx, number, cell[n+m:], int(length))
	if err != nil {
		return err
	}
	values, fault := record(payload)
	if fault != "" {
		return w.malformed(number, "row %d: %s", w.last, fault)
	}
	return fn(w.last, values, number)
}

// payload puts together what is on the page and on the pages that it continues at.
func (w *walk) payload(ctx context.Context, number uint32, here []byte, length int) ([]byte, error) {
	usable := w.f.head.usable
	local := length
	if most := usable - 35; length > most {
		least := (usable-12)*32/255 - 23
		if local = least + (length-least)%(usable-4); local > most {
			local = least
		}
	}
	if local == length {
		if len(here) < length {
			return nil, w.malformed(number, "a row is truncated")
		}
		return here[:length], nil
	}
	if len(here) < local+4 {
		return nil, w.malformed(number, "a row is truncated")
	}
	whole := append([]byte(nil), here[:local]...) // grows as the pages are there
	next := binary.BigEndian.Uint32(here[local:])
	for len(whole) < length {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		data, err := w.page(next, number)
		if err != nil {
			return nil, err
		}
		number, next = next, binary.BigEndian.Uint32(data)
		whole = append(whole, data[4:min(len(data), 4+length-len(whole))]...)
	}
	return whole, nil
}
