//go:build linux

package powerloss

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Sizes of what a disk writes at once.
var atoms = []int64{512, 4096}

// Write makes an image of the disk in an empty folder: what is on the disk for
// sure, and of the rest what rng chooses.
func (d *Disk) Write(rng *rand.Rand, folder string) error {
	w := &image{Disk: d, rng: rng, renamed: map[*op]bool{}}
	if rng.IntN(4) == 0 {
		w.namesToo = rng.IntN(2) // no names, or all of them
	} else {
		w.namesToo = -1
	}
	return w.folder(d.root, folder)
}

// image is one image in the making.
type image struct {
	*Disk
	rng      *rand.Rand
	namesToo int          // 0: no change of names is there, 1: all are, -1: any
	renamed  map[*op]bool // whether it is there: the same in both folders
}

func (w *image) folder(id int, path string) error {
	f := w.files[id]
	entries := maps.Clone(f.names)
	for _, c := range f.waiting {
		if !w.happened(c.op) {
			continue
		}
		for _, n := range c.names {
			if w.files[n.folder] != f {
				continue
			}
			if n.file == 0 {
				delete(entries, n.name)
			} else {
				entries[n.name] = n.file
			}
		}
	}
	written := map[int]string{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if err := w.entry(entries[name], filepath.Join(path, name), written); err != nil {
			return err
		}
	}
	return nil
}

func (w *image) entry(id int, path string, written map[int]string) error {
	if first, linked := written[id]; linked {
		return os.Link(first, path)
	}
	written[id] = path
	if w.files[id].dir {
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		return w.folder(id, path)
	}
	return w.file(w.files[id], path)
}

func (w *image) happened(o *op) bool {
	did, decided := w.renamed[o]
	if !decided {
		did = w.namesToo == 1 || w.namesToo == -1 && w.rng.IntN(2) == 0
		w.renamed[o] = did
	}
	return did
}

func (w *image) file(f *file, path string) (err error) {
	out, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Truncate(f.size); err != nil {
		return err
	}
	for _, page := range slices.Sorted(maps.Keys(f.pages)) {
		data := f.pages[page][:]
		if end := f.size - page*pageSize; end < pageSize {
			data = data[:end]
		}
		if _, err := out.WriteAt(data, page*pageSize); err != nil {
			return err
		}
	}
	for _, c := range w.choose(f.waiting) {
		if c.kind == truncates {
			err = out.Truncate(c.size)
		} else {
			_, err = out.WriteAt(c.data, c.offset)
		}
		if err != nil {
			return fmt.Errorf("image of %s: %w", path, err)
		}
	}
	return nil
}

// choose returns what is there of the changes that may be, in an order in which
// a disk may have done them.
func (w *image) choose(waiting []*change) (chosen []*change) {
	if len(waiting) == 0 {
		return nil
	}
	one, rng := w.rng.IntN(len(waiting)), w.rng
	switch rng.IntN(8) {
	case 0: // nothing
	case 1: // all, as after a kill
		return waiting
	case 2: // the first ones, the last of them torn
		chosen = append(chosen, waiting[:one]...)
		return append(chosen, w.tear(waiting[one], anyTear)...)
	case 3: // one alone
		chosen = append(chosen, waiting[one])
	case 4: // all but one
		chosen = slices.Delete(slices.Clone(waiting), one, one+1)
	case 5, 6: // any, whole
		for _, c := range waiting {
			if rng.IntN(2) == 0 {
				chosen = append(chosen, c)
			}
		}
	default: // any, torn in any way
		for _, c := range waiting {
			if rng.IntN(4) > 0 {
				chosen = append(chosen, w.tear(c, tearing(rng.IntN(3)))...)
			}
		}
	}
	w.shuffle(chosen)
	return chosen
}

// shuffle changes the order of writes among themselves.
func (w *image) shuffle(chosen []*change) {
	if w.rng.IntN(2) == 0 || slices.ContainsFunc(chosen, func(c *change) bool { return c.kind != writes }) {
		return
	}
	w.rng.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
}

type tearing int

const (
	anyTear tearing = iota // any of its atoms
	head                   // the first ones
	tail                   // the last ones
)

// tear returns a part of a write, in whole atoms of the disk. What is no write
// happens wholly.
func (w *image) tear(c *change, how tearing) (parts []*change) {
	if c.kind != writes {
		return []*change{c}
	}
	size := atoms[w.rng.IntN(len(atoms))]
	begin, end := c.offset, c.offset+int64(len(c.data))
	cut := begin + w.rng.Int64N(end-begin+1)
	for at := begin; at < end; {
		next := min((at/size+1)*size, end)
		var there bool
		switch how {
		case anyTear:
			there = w.rng.IntN(2) == 0
		case head:
			there = next <= cut
		case tail:
			there = at >= cut
		}
		if there {
			parts = append(parts, &change{c.op, at, c.data[at-c.offset : next-c.offset], c.clean})
		}
		at = next
	}
	slices.SortFunc(parts, func(a, b *change) int { return cmp.Compare(a.offset, b.offset) })
	return parts
}
