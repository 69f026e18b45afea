package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Comparison compares states of a file, one pair after the other, and reuses its memory:
// one bit a page. The zero value is ready to use. It is not safe for concurrent use.
type Comparison struct {
	before, after *File
	tell          func(id uint64, pages int)
	old           []uint64 // one bit a page, all 0 between two uses
	level         level
}

// Written calls tell for each page that the state after has and the state before lacks,
// which are the pages that the commit between them wrote, except the head. It reads only
// the branches that the commit touched, and a few bytes of each leaf. Both are states of
// the same file: after is that of the last commit, and before that of the one before it.
// bbolt does not overwrite pages of the current state, so both are whole until the next
// commit begins.
func (c *Comparison) Written(before, after *File, tell func(id uint64, pages int)) error {
	c.before, c.after, c.tell = before, after, tell
	if words := int(max(before.head.pages, after.head.pages)/64 + 1); words > len(c.old) {
		c.old = append(c.old, make([]uint64, words-len(c.old))...)
	}
	left, made, err := c.trees(before.head.root, after.head.root)
	if err != nil {
		return err
	}
	was, err := c.roots(before, left, nil)
	if err != nil {
		return err
	}
	is, err := c.roots(after, made, tell)
	if err != nil {
		return err
	}
	for name, root := range is {
		_, leaves, err := c.trees(was[name], root)
		if err == nil {
			err = c.tellLeaves(leaves)
		}
		if err != nil {
			return fmt.Errorf("bucket %s: %w", name, err)
		}
	}
	return nil
}

var errUneven = errors.New("not all leaves of a tree are as far from its root")

// trees compares two trees by the numbers of their pages, from the roots down: a page
// that both have is equal in both with all pages below it. It reports the branches that
// only the new tree has, and returns the leaves that only one of them has. Root 0 is no
// tree.
func (c *Comparison) trees(before, after uint64) (left, made []uint64, err error) {
	if before == after {
		return nil, nil, nil
	}
	heightBefore, err := c.height(c.before, before)
	if err != nil {
		return nil, nil, err
	}
	heightAfter, err := c.height(c.after, after)
	if err != nil {
		return nil, nil, err
	}
	for height := max(heightBefore, heightAfter); ; height-- {
		if height == heightBefore {
			left = append(left, before)
		}
		if height == heightAfter {
			made = append(made, after)
		}
		if left, made = c.apart(left, made); height <= 0 {
			return left, made, nil
		}
		if left, err = c.below(c.before, left, nil); err != nil {
			return nil, nil, err
		}
		if made, err = c.below(c.after, made, c.tell); err != nil {
			return nil, nil, err
		}
	}
}

// height returns the number of branches above each leaf of a tree; -1 for no tree.
func (c *Comparison) height(f *File, root uint64) (int, error) {
	if root == 0 {
		return -1, nil
	}
	for height := range maxDepth {
		p, err := c.read(f, root)
		if err != nil || p.flags == leafPage {
			return height, err
		}
		below, err := p.children(nil)
		if err != nil {
			return 0, fmt.Errorf("page %d: %w", p.id, err)
		}
		root = below[0]
	}
	return 0, errUneven
}

// below returns the pages to which the branches with these numbers point, and reports the
// branches.
func (c *Comparison) below(f *File, branches []uint64, tell func(id uint64, pages int)) (all []uint64, err error) {
	for _, id := range branches {
		p, err := c.read(f, id)
		switch {
		case err != nil:
		case p.flags != branchPage:
			err = errUneven
		default:
			all, err = p.children(all)
		}
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", id, err)
		}
		if tell != nil {
			tell(id, 1+int(p.overflow))
		}
	}
	return all, nil
}

// apart removes the pages that are in both lists.
func (c *Comparison) apart(left, made []uint64) (onlyLeft, onlyMade []uint64) {
	for _, id := range left {
		if id/64 < uint64(len(c.old)) {
			c.old[id/64] |= 1 << (id % 64)
		}
	}
	onlyMade = slices.DeleteFunc(made, func(id uint64) bool { return c.forget(id) })
	onlyLeft = slices.DeleteFunc(left, func(id uint64) bool { return !c.forget(id) })
	return onlyLeft, onlyMade
}

// forget clears the bit of a page, and reports whether it was set.
func (c *Comparison) forget(id uint64) bool {
	if id/64 >= uint64(len(c.old)) || c.old[id/64]&(1<<(id%64)) == 0 {
		return false
	}
	c.old[id/64] &^= 1 << (id % 64)
	return true
}

func (c *Comparison) tellLeaves(leaves []uint64) error {
	for _, id := range leaves {
		p, err := c.read(c.after, id)
		if err != nil {
			return err
		}
		c.tell(id, 1+int(p.overflow))
	}
	return nil
}

// roots returns the root of each bucket in these leaves of the tree of buckets, and
// reports the leaves; 0 is a bucket without a page of its own.
func (c *Comparison) roots(f *File, leaves []uint64, tell func(id uint64, pages int)) (map[string]uint64, error) {
	all := map[string]uint64{}
	for _, id := range leaves {
		p, err := c.read(f, id)
		if err == nil && p.overflow > 0 {
			p, err = f.loadAll(p, &c.level)
		}
		if err != nil {
			return nil, err
		}
		elements, _, err := p.elements(nil)
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", id, err)
		}
		for _, el := range elements {
			if el.flags != bucketElement || len(el.value) < bucketHeader {
				return nil, fmt.Errorf("page %d: %q is no bucket", id, el.key)
			}
			all[string(el.key)] = binary.NativeEndian.Uint64(el.value)
		}
		if tell != nil {
			tell(id, 1+int(p.overflow))
		}
	}
	return all, nil
}

// read reads a page without its overflow pages, except for a branch, which it reads
// completely.
func (c *Comparison) read(f *File, id uint64) (page, error) {
	c.level.data = grow(c.level.data, f.size(0))
	p, err := f.load(id, c.level.data)
	if err == nil && p.flags == branchPage && p.overflow > 0 {
		p, err = f.loadAll(p, &c.level)
	}
	if err != nil {
		return p, fmt.Errorf("page %d: %w", id, err)
	}
	return p, nil
}

// children appends the pages to which a branch points.
func (p *page) children(all []uint64) ([]uint64, error) {
	if p.count == 0 || pageHeader+p.count*elementHeader > len(p.data) {
		return nil, errors.New("it is no whole branch")
	}
	for i := range p.count {
		all = append(all, binary.NativeEndian.Uint64(p.data[pageHeader+i*elementHeader+8:]))
	}
	return all, nil
}

// Set is a set of pages. The zero value is empty.
type Set struct{ bits []uint64 }

// Add adds pages consecutive pages, beginning with id.
func (s *Set) Add(id uint64, pages int) {
	last := id + uint64(pages) - 1
	if need := last/64 + 1; need > uint64(len(s.bits)) {
		s.bits = append(s.bits, make([]uint64, need-uint64(len(s.bits)))...)
	}
	for ; id <= last; id++ {
		s.bits[id/64] |= 1 << (id % 64)
	}
}

// Len returns the number of pages in the set.
func (s *Set) Len() (n int) {
	for _, word := range s.bits {
		n += bits.OnesCount64(word)
	}
	return n
}

// Runs calls fn for each run of consecutive pages, in order, of at most limit pages,
// until fn returns an error.
func (s *Set) Runs(limit int, fn func(id uint64, pages int) error) error {
	var from, n uint64
	for i, word := range s.bits {
		for ; word != 0; word &= word - 1 {
			id := uint64(i)*64 + uint64(bits.TrailingZeros64(word))
			if n > 0 && (id != from+n || n == uint64(limit)) {
				if err := fn(from, int(n)); err != nil {
					return err
				}
				n = 0
			}
			if n == 0 {
				from = id
			}
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fn(from, int(n))
}
