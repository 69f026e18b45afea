package batch

import (
	"encoding/binary"
	"slices"
	"strings"

	"postern/store"
)

// listedVersion begins the row of a batch in its owner's index. Rows of earlier
// releases are empty until they are counted.
const listedVersion = 1

// maxListed bounds how many instances a row has: of a batch with more, filters read the
// batch itself.
const maxListed = 16

// encodeListed returns the fields that filters of lists need, so that they read no
// other record: creation time, name, instances.
func encodeListed(s *spec) []byte {
	raw := make([]byte, 0, 64+len(s.Name))
	raw = appendNumbers(append(raw, listedVersion), s.CreatedAt)
	raw = appendText(raw, s.Name)
	if len(s.Instances) > maxListed {
		return appendNumbers(raw, -1)
	}
	raw = appendNumbers(raw, len(s.Instances))
	for _, ref := range s.Instances {
		raw = appendText(appendNumbers(raw, ref.ID), ref.Name)
	}
	return raw
}

// listed is a decoded row; its texts point into the row.
type listed struct {
	createdAt int64
	name      []byte
	rest      decoder
	instances int // -1: the row does not tell
}

func decodeListed(raw []byte) (l listed, ok bool) {
	d := decoder{rest: raw}
	d.version(listedVersion)
	l.createdAt, l.name = d.number(), d.bytes()
	l.instances, l.rest = int(d.number()), d
	return l, !d.bad && l.instances <= len(d.rest)
}

// refs returns the instances of a row that lists them.
func (l listed) refs() (refs []InstanceRef, ok bool) {
	d := l.rest
	for range l.instances {
		refs = append(refs, InstanceRef{ID: d.number(), Name: d.text()})
	}
	return refs, l.instances >= 0 && d.end("row") == nil
}

// wanted is a filter prepared for the many rows of one list.
type wanted struct {
	Filter
	folded string // Query in lower case
	long   bool   // no name is as long as Query
}

func (f Filter) wanted() wanted {
	w := wanted{Filter: f, long: len(f.Query) > longestName}
	if !w.long {
		w.folded = strings.ToLower(f.Query)
	}
	return w
}

// byStatusOnly reports whether f selects by status only.
func (f Filter) byStatusOnly() bool {
	f.Status = nil
	return f.empty()
}

// row evaluates all but the status by a row of the owner's index; known is false when
// the row is insufficient.
func (w *wanted) row(raw []byte) (fits, known bool) {
	if w.byStatusOnly() {
		return true, true
	}
	l, ok := decodeListed(raw)
	if !ok {
		return false, false
	}
	s := spec{CreatedAt: l.createdAt}
	if w.Name != "" || w.Query != "" {
		s.Name = string(l.name)
	}
	if w.InstanceName != "" || w.Opens != nil {
		if s.Instances, ok = l.refs(); !ok {
			return false, false
		}
	}
	return w.selects(&s), true
}

// selects reports whether the batch fits all but the status.
func (w *wanted) selects(s *spec) bool {
	open := func(ref InstanceRef) bool { return w.Opens == nil || w.Opens(ref.ID) }
	named := func(ref InstanceRef) bool { return ref.Name == w.InstanceName && open(ref) }
	created := milli(s.CreatedAt)
	return (w.InstanceName == "" || slices.ContainsFunc(s.Instances, named)) &&
		(w.CreatedFrom.IsZero() || !created.Before(w.CreatedFrom)) &&
		(w.CreatedTo.IsZero() || !created.After(w.CreatedTo)) &&
		(w.Name == "" || s.Name == w.Name) &&
		(w.Opens == nil || slices.ContainsFunc(s.Instances, open)) &&
		(w.Query == "" || !w.long && strings.Contains(strings.ToLower(s.Name), w.folded))
}

// listSource is an index that a list of batches goes through: the last sixteen bytes of
// its keys are ids of batches, in order.
type listSource struct {
	bucket string
	prefix []byte
}

// run is the part of a source that was read and not used yet.
type run struct {
	listSource
	ids   []listKey
	slab  []byte // values
	ended bool
	size  int    // of the part
	at    []byte // id of the last one read
}

type listKey struct {
	id       [16]byte
	from, to int // of the value in the slab
}

// listChunk is how many keys of a source are read at first; each further time they
// are twice as many, up to maxListChunk.
const (
	listChunk    = 64
	maxListChunk = 512
)

func (r *run) fill(tx *store.Tx, back bool) error {
	r.ids, r.slab = r.ids[:0], r.slab[:0]
	r.size = min(max(listChunk, 2*r.size), maxListChunk)
	rows := store.Range{Prefix: r.prefix, Reverse: back}
	switch {
	case r.at == nil:
	case back:
		rows.Before = store.Key(r.prefix, r.at)
	default:
		rows.From = append(store.Key(r.prefix, r.at), 0)
	}
	n := len(r.prefix) + 16
	err := tx.Look(r.bucket, rows, func(key, value []byte) (bool, error) {
		if len(key) == n {
			from := len(r.slab)
			r.slab = append(r.slab, value...)
			r.ids = append(r.ids, listKey{[16]byte(key[len(r.prefix):]), from, len(r.slab)})
		}
		return len(r.ids) < r.size, nil
	})
	r.ended = len(r.ids) < r.size
	if n := len(r.ids); n > 0 {
		r.at = slices.Clone(r.ids[n-1].id[:])
	}
	return err
}

// next returns the next id and its value.
func (r *run) next(tx *store.Tx, back bool) (k listKey, ok bool, err error) {
	if len(r.ids) == 0 && !r.ended {
		err = r.fill(tx, back)
	}
	if err != nil || len(r.ids) == 0 {
		return k, false, err
	}
	return r.ids[0], true, nil
}

// merged goes through the ids of several sources in order, from beside an id on.
func merged(tx *store.Tx, sources []listSource, at []byte, back bool, fn func(id [16]byte, from string, value []byte) (bool, error)) error {
	runs := make([]*run, len(sources))
	for i, s := range sources {
		runs[i] = &run{listSource: s, at: at}
	}
	for {
		var first *run
		var least listKey
		for _, r := range runs {
			k, ok, err := r.next(tx, back)
			if err != nil {
				return err
			}
			if ok && (first == nil || comesFirst(k.id, least.id, back)) {
				first, least = r, k
			}
		}
		if first == nil {
			return nil
		}
		first.ids = first.ids[1:]
		more, err := fn(least.id, first.bucket, first.slab[least.from:least.to])
		if err != nil || !more {
			return err
		}
	}
}

func comesFirst(a, b [16]byte, back bool) bool {
	if back {
		a, b = b, a
	}
	return binary.BigEndian.Uint64(a[:]) < binary.BigEndian.Uint64(b[:]) ||
		binary.BigEndian.Uint64(a[:]) == binary.BigEndian.Uint64(b[:]) && binary.BigEndian.Uint64(a[8:]) < binary.BigEndian.Uint64(b[8:])
}
