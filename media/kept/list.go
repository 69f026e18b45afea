package kept

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"postern/store"
)

// Query selects records of an instance, newest first.
type Query struct {
	State  State // empty: all
	Limit  int
	Before int64 // only messages with a lower id, and
	After  int64 // only those just above; excludes Before
}

// Entry is a record with the id of its message.
type Entry struct {
	Message int64
	Record
}

// Page is a part of the records of an instance. It may be short although more follow, if
// the scan met many records of other states.
type Page struct {
	Entries      []Entry
	Total        int
	Minimum      bool  // Total is a lower bound
	Older, Newer int64 // Before and After of the adjacent pages; 0: none
}

const (
	pageScan = 5000    // records read for one page, and for counting those of a state
	countMax = 100_000 // records counted without a state
)

// List returns a page of the records of an instance.
func (k *Keeper) List(ctx context.Context, instance int64, q Query) (p Page, err error) {
	if ctx.Err() != nil {
		return p, context.Cause(ctx)
	}
	err = k.cfg.Store.View(func(tx *store.Tx) error {
		p = Page{}
		if err := p.read(tx, instance, &q); err != nil {
			return err
		}
		return p.count(tx, instance, &q)
	})
	return p, err
}

// each calls fn for the records of a range with the state of q, until fn returns false, for
// at most pageScan records. cut is the id at which it stopped, 0 at the end.
func each(tx *store.Tx, instance int64, r store.Range, q *Query, fn func(id int64, raw []byte) bool) (cut int64, err error) {
	looked := 0
	r.Prefix = store.Key(instance)
	err = tx.Scan(filesBucket, r, func(key, raw []byte) (bool, error) {
		if len(key) != 16 {
			return true, nil
		}
		id := int64(binary.BigEndian.Uint64(key[8:])) //nolint:gosec // as put wrote it
		if looked++; looked > pageScan {
			cut = id
			return false, nil
		}
		if q.State != "" && stateOf(raw) != q.State {
			return true, nil
		}
		if !fn(id, raw) {
			cut = id
			return false, nil
		}
		return true, nil
	})
	return cut, err
}

// stateOf returns the state of a record. It is the first field of what put wrote, which is
// found without decoding the others.
func stateOf(raw []byte) State {
	if rest, found := bytes.CutPrefix(raw, []byte(`{"state":"`)); found {
		if state, _, found := bytes.Cut(rest, []byte{'"'}); found {
			return State(state)
		}
	}
	var r struct {
		State State `json:"state"`
	}
	_ = json.Unmarshal(raw, &r) // a record that cannot be read has none
	return r.State
}

// read reads the entries and finds the adjacent pages.
func (p *Page) read(tx *store.Tx, instance int64, q *Query) error {
	r := store.Range{Reverse: true}
	switch {
	case q.After > 0:
		r = store.Range{From: store.Key(instance, q.After+1)}
	case q.Before > 0:
		r.Before = store.Key(instance, q.Before)
	}
	cut, err := each(tx, instance, r, q, func(id int64, raw []byte) bool {
		if len(p.Entries) == q.Limit {
			return false
		}
		var r Record
		if json.Unmarshal(raw, &r) == nil { // a damaged record is not listed
			p.Entries = append(p.Entries, Entry{id, r})
		}
		return true
	})
	if err != nil {
		return err
	}
	more := cut != 0
	switch {
	case q.After > 0:
		slices.Reverse(p.Entries)
		p.Older = q.After + 1
		if more {
			p.Newer = cut - 1
			if len(p.Entries) > 0 {
				p.Newer = p.Entries[0].Message
			}
		}
		if len(p.Entries) > 0 {
			p.Older = p.Entries[len(p.Entries)-1].Message
		}
	default:
		if more {
			p.Older = cut + 1
			if len(p.Entries) == q.Limit {
				p.Older = p.Entries[len(p.Entries)-1].Message
			}
		}
		if q.Before > 0 {
			p.Newer = q.Before - 1
			if len(p.Entries) > 0 {
				p.Newer = p.Entries[0].Message
			}
		}
	}
	return nil
}

// States returns how many files have each state.
func (k *Keeper) States() (counts map[State]int, err error) {
	err = k.cfg.Store.View(func(tx *store.Tx) error {
		counts = map[State]int{}
		return tx.Scan(filesBucket, store.Range{}, func(_, raw []byte) (bool, error) {
			if state := stateOf(raw); state != "" {
				counts[state]++
			}
			return true, nil
		})
	})
	return counts, err
}

// count counts the records of all pages.
func (p *Page) count(tx *store.Tx, instance int64, q *Query) error {
	if q.State == "" {
		return tx.Walk(filesBucket, store.Range{Prefix: store.Key(instance)}, func([]byte) (bool, error) {
			if p.Total == countMax {
				p.Minimum = true
				return false, nil
			}
			p.Total++
			return true, nil
		})
	}
	cut, err := each(tx, instance, store.Range{Reverse: true}, q, func(int64, []byte) bool {
		p.Total++
		return true
	})
	p.Minimum = cut != 0
	return err
}

// ExpiresAt returns when the retention ends for a kept file; zero: it does not.
func (k *Keeper) ExpiresAt(r Record) time.Time {
	if r.State != Stored || k.cfg.Retention <= 0 {
		return time.Time{}
	}
	return r.StoredAt.Add(k.cfg.Retention)
}
