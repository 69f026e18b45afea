package delivery

import (
	"encoding/binary"
	"errors"

	"postern/delivery/layout"
	"postern/store"
)

// DueAfter returns up to limit deliveries of a lane that may be sent once they are due, in the
// order of time and record, after the given one; the zero Due starts at the front. It includes
// deliveries that are due in the future.
func DueAfter(tx *store.Tx, lane Lane, after Due, limit int) (all []Due, err error) {
	prefix := lane.key()
	r := store.Range{Prefix: prefix}
	if after != (Due{}) {
		r.From = store.Key(prefix, uint64(layout.Millis(after.At)), after.Record+1)
	}
	err = tx.Walk(dues, r, func(k []byte) (bool, error) {
		tail := k[len(prefix):]
		if len(tail) != 16 {
			return true, nil
		}
		d := Due{At: layout.FromMillis(int64(binary.BigEndian.Uint64(tail))), Record: binary.BigEndian.Uint64(tail[8:])}
		all = append(all, d)
		return limit == 0 || len(all) < limit, nil
	})
	if err != nil {
		return nil, err
	}
	for i := range all {
		p := place{lane: lane, record: all[i].Record}
		if err := lineOf(tx, dues, p.dueKey(all[i].At), &p); err != nil {
			return nil, err
		}
		all[i].Line, all[i].Once, all[i].Batch, all[i].OutboxSeq = p.line, p.once, p.batch, p.outbox
	}
	return all, nil
}

// PendingAfter returns the deliveries of DueAfter in the order in which they were made, due or
// not, after the given record: what a sweep sends. It does not set At. OutboxLane has no such
// order; the outbox lists its pending entries.
func PendingAfter(tx *store.Tx, lane Lane, record uint64, limit int) (all []Due, err error) {
	all, err = headsAfter(tx, lane, record, limit)
	for i := range all {
		p := place{lane: lane, record: all[i].Record}
		if err := lineOf(tx, heads, p.headKey(), &p); err != nil {
			return nil, err
		}
		all[i].Line, all[i].Once = p.line, p.once
	}
	return all, err
}

// headsAfter is PendingAfter for a lane or a share, without the lines.
func headsAfter(tx *store.Tx, lane Lane, record uint64, limit int) (all []Due, err error) {
	prefix := lane.key()
	err = tx.Walk(heads, store.Range{Prefix: prefix, From: store.Key(prefix, record+1)}, func(k []byte) (bool, error) {
		if tail := k[len(prefix):]; len(tail) == 8 {
			all = append(all, Due{Record: binary.BigEndian.Uint64(tail)})
		}
		return limit == 0 || len(all) < limit, nil
	})
	return all, err
}

// lineOf sets what the row of an index states besides its key; if the row is damaged, it uses
// the record.
func lineOf(tx *store.Tx, bucket string, key []byte, p *place) error {
	raw, err := tx.Get(bucket, key)
	if err == nil && p.parse(raw) {
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	r, found, err := Find(tx, p.record)
	if found {
		*p = placeOf(r)
	}
	if errors.Is(err, store.ErrDamaged) {
		return nil
	}
	return err
}

// NextInLine returns the delivery behind another in its line: the one that may be sent once
// that was accepted, whether or not the file has the outcome yet. found is false if there is
// none, and for a delivery without a line.
func NextInLine(tx *store.Tx, r Record) (next Due, found bool, err error) {
	if r.Line == 0 {
		return next, false, nil
	}
	p := placeOf(r)
	prefix := store.Key(p.share().key(), uint64(r.Line))
	err = tx.Walk(lines, store.Range{Prefix: prefix, From: store.Key(prefix, r.ID+1)}, func(k []byte) (bool, error) {
		if found = len(k) == len(prefix)+8; found {
			p.record = binary.BigEndian.Uint64(k[len(prefix):])
		}
		return !found, nil
	})
	if err != nil || !found {
		return next, false, err
	}
	at, err := lineDue(tx, &p)
	return Due{At: at, Record: p.record, Line: p.line}, err == nil, err
}
