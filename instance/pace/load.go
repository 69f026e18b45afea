package pace

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"postern/store"
)

// found is the stored state of one instance.
type found struct {
	limits *Limits
	head   *head // nil: none, or unreadable
	moves  bool  // the head is in bucket, as in files older than heads
	noted  map[uint64]noted
	chunks []uint64
	filed  uint64 // those before are in chunks, if anywhere
}

// load reads the file into memory. It records at once what a crash left in doubt: after
// another crash the doubt would move to a later time.
func (p *Pacer) load(ctx context.Context) error {
	all := map[int64]*found{}
	headless := false
	err := p.cfg.Store.View(func(tx *store.Tx) error {
		err := tx.Scan(bucket, store.Range{}, func(k, v []byte) (bool, error) { return true, take(tx, all, k, v) })
		if err != nil {
			return err
		}
		n, err := tx.Count(heads, nil)
		if err != nil {
			return err
		}
		headless = n == 0
		return tx.Scan(heads, store.Range{}, func(k, v []byte) (bool, error) { return true, takeHead(tx, all, k, v) })
	})
	if err != nil {
		return err
	}
	now := p.cfg.now()
	doubted := map[*ledger]*found{}
	for id, f := range all {
		if f.limits == nil {
			continue // damaged: reported by the store
		}
		l := newLedger(p, id)
		f.mend(headless)
		if l.restore(now, f) || headless {
			doubted[l] = f
		}
		p.books[id] = l
	}
	return p.resolve(ctx, now, doubted)
}

// resolve records possible departures before a crash as having left now.
func (p *Pacer) resolve(ctx context.Context, now moment, doubted map[*ledger]*found) error {
	if len(doubted) == 0 {
		return nil
	}
	var writes []func(*store.Tx) error
	filed := map[*ledger]uint64{}
	for l, f := range doubted {
		var write func(*store.Tx) error
		write, filed[l] = l.snapshot(now, l.end())
		writes = append(writes, write)
		if f.moves {
			writes = append(writes, func(tx *store.Tx) error { return tx.Delete(bucket, formerHeadKey(l.id)) })
		}
	}
	err := p.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		for _, write := range writes {
			if err := write(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrDiskFull) {
		return nil // counted nevertheless, and recorded with the next departure
	}
	for l, n := range filed {
		l.filed, l.noted = n, l.end()
	}
	return err
}

// take adds one record. It skips unreadable ones; missing departures count as of the
// start.
func take(tx *store.Tx, all map[int64]*found, k, v []byte) error {
	if len(k) < 9 {
		return tx.Unreadable(bucket, k, errMalformed)
	}
	id := int64(binary.BigEndian.Uint64(k)) //nolint:gosec // as it was stored
	f := all[id]
	if f == nil {
		f = &found{noted: map[uint64]noted{}}
		all[id] = f
	}
	var err error
	switch k[8] {
	case 'L':
		f.limits = &Limits{}
		if err = json.Unmarshal(v, f.limits); err == nil {
			err = f.limits.Check()
		}
	case 'H':
		f.moves = true
		f.head, _, err = decodeHead(v)
	case 'D':
		var number uint64
		if number, err = f.read(v); err == nil {
			f.chunks = append(f.chunks, number/chunk)
		}
	}
	if err != nil {
		_ = tx.Unreadable(bucket, k, err)
		if k[8] == 'L' {
			f.limits = nil
		}
	}
	return nil
}

// read adds the departures of a chunk and returns the number of the first.
func (f *found) read(raw []byte) (uint64, error) {
	number, some, err := decodeChunk(raw)
	for i, n := range some {
		f.noted[number+uint64(i)] = n
	}
	return number, err
}

// takeHead adds a head, whose departures are newer than those of chunks under the same
// numbers.
func takeHead(tx *store.Tx, all map[int64]*found, k, v []byte) error {
	if len(k) != 8 {
		return tx.Unreadable(heads, k, errMalformed)
	}
	f := all[int64(binary.BigEndian.Uint64(k))] //nolint:gosec // as it was stored
	if f == nil {
		return nil // its limits are damaged: reported by the store
	}
	h, newest, err := decodeHead(v)
	if err != nil {
		return tx.Unreadable(heads, k, err)
	}
	f.head = h // even if the following ones are unreadable: then they count as of the start
	if f.filed, err = f.read(newest); err != nil {
		return tx.Unreadable(heads, k, err)
	}
	return nil
}

// restore fills a ledger from the file and reports whether it has departures that the
// file lacks.
func (l *ledger) restore(now moment, f *found) (doubt bool) {
	l.limits = *f.limits
	l.zone, _ = f.limits.zone(l.p.cfg.Location)
	l.first = f.head.first
	l.sent = make([]departure, 0, f.head.granted-f.head.first)
	latest := now.awake - kept
	for number := f.head.first; number < f.head.granted; number++ {
		d := departure{now.awake, ^number} // recipient unknown: count it as a distinct new contact
		if n, ok := f.noted[number]; ok && number < f.head.end {
			d = departure{now.back(time.UnixMilli(n.ms)), n.person}
		} else {
			doubt = true
		}
		latest = min(max(d.at, latest), now.awake) // the clock may have been set back
		d.at = latest
		l.sent = append(l.sent, d)
	}
	l.chunks = [2]uint64{l.first / chunk, 0}
	for _, n := range f.chunks {
		l.chunks = [2]uint64{min(l.chunks[0], n), max(l.chunks[1], n+1)}
	}
	l.noted, l.granted, l.asked = f.head.end, l.end(), l.end()
	if doubt {
		l.noted = l.first
	}
	l.filed = min(f.filed, l.noted)
	if len(l.sent) > 0 {
		l.spaced = latest + l.limits.JitterMs.draw()
	}
	return doubt
}

// mend creates a head for departures whose head is unreadable. In a file without heads,
// an instance without one has sent nothing.
func (f *found) mend(headless bool) {
	if f.head != nil {
		return
	}
	f.head = &head{}
	switch {
	case len(f.noted) > 0:
		f.head.first = slices.Min(slices.Collect(maps.Keys(f.noted)))
		f.head.end = slices.Max(slices.Collect(maps.Keys(f.noted))) + 1
	case headless:
		return
	}
	f.head.granted = f.head.end + tail + ahead
}
