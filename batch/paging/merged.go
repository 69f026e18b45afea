package paging

import (
	"encoding/binary"
	"slices"

	"postern/store"
)

// Source is an index that a list goes through: the last sixteen bytes of its keys are ids,
// in order.
type Source struct {
	Bucket string
	Prefix []byte
}

// run is the part of a source that was read and not used yet.
type run struct {
	Source
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
	rows := store.Range{Prefix: r.Prefix, Reverse: back}
	switch {
	case r.at == nil:
	case back:
		rows.Before = store.Key(r.Prefix, r.at)
	default:
		rows.From = append(store.Key(r.Prefix, r.at), 0)
	}
	n := len(r.Prefix) + 16
	err := tx.Look(r.Bucket, rows, func(key, value []byte) (bool, error) {
		if len(key) == n {
			from := len(r.slab)
			r.slab = append(r.slab, value...)
			r.ids = append(r.ids, listKey{[16]byte(key[len(r.Prefix):]), from, len(r.slab)})
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

// Merged goes through the ids of several sources in order, from beside an id on.
func Merged(tx *store.Tx, sources []Source, at []byte, back bool, fn func(id [16]byte, from string, value []byte) (bool, error)) error {
	runs := make([]*run, len(sources))
	for i, s := range sources {
		runs[i] = &run{Source: s, at: at}
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
		more, err := fn(least.id, first.Bucket, first.slab[least.from:least.to])
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
