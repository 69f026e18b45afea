//go:build linux

package powerloss

import (
	"cmp"
	"slices"
)

// Disk is what a recording's folder would be after a power cut. It is moved on
// from one position to the next.
type Disk struct {
	steps []step
	files map[int]*file
	root  int
	syncs int

	// Skip, when set, makes the disk forget syncs: it is asked about each by
	// its number.
	Skip func(n int) bool
}

// step is the beginning or the return of an operation.
type step struct {
	pos int
	op  *op
}

// file is a file or a folder. What is on the disk for sure is kept in pages,
// what a cut may leave or not in waiting, in the order in which it was done.
type file struct {
	dir     bool
	size    int64
	pages   map[int64]*[pageSize]byte
	names   map[string]int
	waiting []*change
}

// change is an operation on a file, or what is left of one, that is not on the
// disk for sure.
type change struct {
	*op
	offset int64 // of a write: the part that has not been written again
	data   []byte
	clean  bool // a sync failed since, so that none writes it any more
}

const pageSize = 4096

// Disk returns the disk at position 0.
func (r *Recording) Disk() *Disk {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := &Disk{files: map[int]*file{}}
	for _, e := range r.start {
		f := d.add(e.id, e.dir)
		f.write(0, e.content)
		if e.folder == 0 {
			d.root = e.id
		} else {
			d.files[e.folder].names[e.name] = e.id
		}
	}
	for _, o := range r.ops {
		// Copies, since a running program continues with the originals.
		c := *o
		d.steps = append(d.steps, step{c.begin, &c})
		if c.end > 0 {
			d.steps = append(d.steps, step{c.end, &c})
		}
	}
	slices.SortFunc(d.steps, func(a, b step) int { return cmp.Compare(a.pos, b.pos) })
	return d
}

func (d *Disk) add(id int, dir bool) *file {
	f := &file{dir: dir, pages: map[int64]*[pageSize]byte{}, names: map[string]int{}}
	d.files[id] = f
	return f
}

// Advance moves the disk on to a position.
func (d *Disk) Advance(pos int) {
	for len(d.steps) > 0 && d.steps[0].pos <= pos {
		s := d.steps[0]
		d.steps = d.steps[1:]
		if s.pos == s.op.begin {
			d.begin(s.op)
		} else {
			d.finish(s.op)
		}
	}
}

// Waiting returns how many changes are not on the disk for sure.
func (d *Disk) Waiting() (n int) {
	for _, f := range d.files {
		n += len(f.waiting)
	}
	return n
}

func (d *Disk) begin(o *op) {
	switch o.kind {
	case writes, truncates:
		f := d.files[o.file]
		f.waiting = append(f.waiting, &change{op: o, offset: o.offset, data: o.data})
	case names:
		for _, n := range o.names {
			if d.files[n.file] == nil && n.file != 0 {
				d.add(n.file, n.isDir)
			}
		}
		for _, id := range o.folders() {
			d.files[id].waiting = append(d.files[id].waiting, &change{op: o})
		}
	case syncs: // counts once it has returned
	}
}

// folders returns those whose names o changes.
func (o *op) folders() (all []int) {
	for _, n := range o.names {
		if !slices.Contains(all, n.folder) {
			all = append(all, n.folder)
		}
	}
	return all
}

func (d *Disk) finish(o *op) {
	f := d.files[o.file]
	switch {
	case o.kind == syncs && !o.failed:
		if d.syncs++; d.Skip == nil || !d.Skip(d.syncs) {
			d.sync(f, o.begin)
		}
	case o.kind == syncs:
		for _, c := range f.waiting {
			c.clean = c.clean || c.returned(o.begin)
		}
	case o.failed && o.kind != names:
		f.waiting = slices.DeleteFunc(f.waiting, func(c *change) bool { return c.op == o })
	}
}

// returned reports whether the operation had returned at pos.
func (o *op) returned(pos int) bool { return o.end > 0 && o.end <= pos }

// sync puts on the disk what had been done to f before the sync began.
func (d *Disk) sync(f *file, began int) {
	var rest []*change
	for _, c := range f.waiting {
		if c.clean || !c.returned(began) {
			rest = append(rest, c)
			continue
		}
		switch c.kind {
		case writes:
			f.write(c.offset, c.data)
			rest = without(rest, c)
		case truncates:
			f.truncate(c.size)
		case names:
			d.rename(f, c.op)
		case syncs: // never waits
		}
	}
	f.waiting = rest
}

// rename puts the names of o that are in the folder f on the disk.
func (d *Disk) rename(f *file, o *op) {
	for _, n := range o.names {
		if d.files[n.folder] != f {
			continue
		}
		if n.file == 0 {
			delete(f.names, n.name)
		} else {
			f.names[n.name] = n.file
		}
	}
}

// without takes from older changes what the write w has just put on the disk.
func without(older []*change, w *change) (rest []*change) {
	low, high := w.offset, w.offset+int64(len(w.data))
	for _, c := range older {
		end := c.offset + int64(len(c.data))
		if c.kind != writes || end <= low || high <= c.offset {
			rest = append(rest, c)
			continue
		}
		if c.offset < low {
			rest = append(rest, &change{c.op, c.offset, c.data[:low-c.offset], c.clean})
		}
		if high < end {
			rest = append(rest, &change{c.op, high, c.data[high-c.offset:], c.clean})
		}
	}
	return rest
}

func (f *file) write(offset int64, data []byte) {
	f.size = max(f.size, offset+int64(len(data)))
	for len(data) > 0 {
		page, at := offset/pageSize, offset%pageSize
		p := f.pages[page]
		if p == nil {
			p = new([pageSize]byte)
			f.pages[page] = p
		}
		n := copy(p[at:], data)
		data, offset = data[n:], offset+int64(n)
	}
}

func (f *file) truncate(size int64) {
	f.size = size
	for page, p := range f.pages {
		switch start := page * pageSize; {
		case start >= size:
			delete(f.pages, page)
		case start+pageSize > size:
			clear(p[size-start:])
		}
	}
}
