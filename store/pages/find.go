package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"
)

// Finder looks up records by key. It trusts the file no more than a Walk does. For each
// bucket it keeps the path to the record found last, so that lookups of neighbouring keys
// are cheap. It is not safe for concurrent use.
type Finder struct {
	file  *File
	trees map[string]*tree
}

// tree is a bucket with the path to the page that was read last.
type tree struct {
	root   uint64
	levels []*node // from the root to a leaf
}

// node is a page on that path. The keys below it are at or after from and before before;
// nil is the bucket's beginning or end.
type node struct {
	level
	page         page
	from, before []byte
}

func (n *node) covers(key []byte) bool {
	return bytes.Compare(n.from, key) <= 0 && (n.before == nil || bytes.Compare(key, n.before) < 0)
}

// NewFinder reads where the buckets begin. The error describes a page that cannot be
// read, which Walk returns as a Fault.
func (f *File) NewFinder() (*Finder, error) {
	x := &Finder{file: f, trees: map[string]*tree{}}
	w := &walk{file: f, seen: make([]uint64, f.head.pages/64+1)}
	w.visitor.Skip = func(string) bool { return true }
	w.header = func(name string, value []byte) error {
		t, err := treeOf(value)
		x.trees[name] = t
		return err
	}
	w.tree(f.head.root, 0, edge{}, nil)
	if w.err == nil && len(w.faults) > 0 {
		w.err = w.faults[0]
	}
	return x, w.err
}

// treeOf reads a bucket's header.
func treeOf(value []byte) (*tree, error) {
	t := &tree{root: binary.NativeEndian.Uint64(value)}
	if t.root != 0 {
		return t, nil
	}
	if len(value) < bucketHeader+pageHeader {
		return nil, &Fault{What: "a bucket's header is cut off"}
	}
	n := &node{page: decodePage(bytes.Clone(value[bucketHeader:]))}
	var err error
	if n.page.flags != leafPage {
		return nil, &Fault{What: "the page inside a bucket's header is no leaf"}
	}
	n.elements, _, err = n.page.elements(nil)
	t.levels = []*node{n}
	return t, err
}

// Has reports whether the file has the bucket.
func (x *Finder) Has(bucket string) bool { return x.trees[bucket] != nil }

// Seek returns the first record of a bucket whose key is not before key, or nil if there
// is none. The result is valid until the next call. The error describes a page that
// cannot be read.
func (x *Finder) Seek(bucket string, key []byte) (found, value []byte, err error) {
	t := x.trees[bucket]
	for t != nil {
		leaf, err := x.leaf(t, key)
		if err != nil {
			return nil, nil, fmt.Errorf("bucket %s: %w", bucket, err)
		}
		i := sort.Search(len(leaf.elements), func(i int) bool { return bytes.Compare(leaf.elements[i].key, key) >= 0 })
		for ; i < len(leaf.elements); i++ {
			if leaf.elements[i].flags == 0 {
				return leaf.elements[i].key, leaf.elements[i].value, nil
			}
		}
		if leaf.before == nil {
			break
		}
		if bytes.Compare(leaf.before, key) <= 0 {
			return nil, nil, fmt.Errorf("bucket %s: its keys are not in order", bucket)
		}
		key = bytes.Clone(leaf.before)
	}
	return nil, nil, nil
}

// leaf returns the leaf to which a key belongs.
func (x *Finder) leaf(t *tree, key []byte) (*node, error) {
	depth := 0
	for depth+1 < len(t.levels) && t.levels[depth+1].covers(key) {
		depth++
	}
	if len(t.levels) == 0 {
		n := &node{}
		if err := x.load(t.root, n); err != nil {
			return nil, err
		}
		t.levels = append(t.levels, n)
	}
	for {
		n := t.levels[depth]
		if n.page.flags == leafPage {
			t.levels = t.levels[:depth+1]
			return n, nil
		}
		if depth++; depth == maxDepth {
			return nil, fmt.Errorf("page %d lies %d levels below the root", n.page.id, depth)
		}
		child, err := x.below(t, n, depth, key)
		if err != nil {
			t.levels = t.levels[:depth]
			return nil, err
		}
		t.levels = append(t.levels[:depth], child)
	}
}

// below returns the page below n to which a key belongs.
func (x *Finder) below(t *tree, n *node, depth int, key []byte) (*node, error) {
	if len(n.elements) == 0 {
		return nil, fmt.Errorf("page %d is empty", n.page.id)
	}
	i := max(1, sort.Search(len(n.elements), func(i int) bool { return bytes.Compare(n.elements[i].key, key) > 0 })) - 1
	child := &node{}
	if spare := t.levels[:cap(t.levels)]; depth < len(spare) && spare[depth] != nil {
		child = spare[depth] // reuses its memory
	}
	from, before := n.from, n.before
	if i > 0 {
		from = n.elements[i].key
	}
	if i+1 < len(n.elements) {
		before = n.elements[i+1].key
	}
	child.from, child.before = append(child.from[:0], from...), append(child.before[:0], before...)
	if before == nil {
		child.before = nil
	}
	return child, x.load(n.elements[i].child, child)
}

// load reads a page and checks everything in it that the page alone determines.
func (x *Finder) load(id uint64, n *node) error {
	n.data = grow(n.data, x.file.size(0))
	p, err := x.file.load(id, n.data)
	if err == nil && p.overflow > 0 {
		p, err = x.file.loadAll(p, &n.level)
	}
	var used int64
	if err == nil {
		n.elements, used, err = p.elements(n.elements[:0])
	}
	if err == nil {
		err = x.file.fits(p, used)
	}
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	n.page = p
	return nil
}
