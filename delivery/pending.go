package delivery

import (
	"encoding/binary"
	"errors"

	"postern/store"
)

// DueAfter returns up to limit deliveries of a lane that may be sent once their
// time has come, in the order of time and record, beginning after the given
// one; the zero Due begins at the front. Those whose time is yet to come are
// included.
func DueAfter(tx *store.Tx, lane Lane, after Due, limit int) (all []Due, err error) {
	prefix := lane.key()
	r := store.Range{Prefix: prefix}
	if after != (Due{}) {
		r.From = store.Key(prefix, uint64(millis(after.At)), after.Record+1)
	}
	err = tx.Walk(dues, r, func(k []byte) (bool, error) {
		tail := k[len(prefix):]
		if len(tail) != 16 {
			return true, nil
		}
		d := Due{At: fromMillis(int64(binary.BigEndian.Uint64(tail))), Record: binary.BigEndian.Uint64(tail[8:])}
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

// PendingAfter is DueAfter in the order in which the deliveries were made,
// whenever they are due, beginning after the given record: what a sweep sends.
// At is not told. OutboxLane has no such order: the outbox lists what is pending.
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

// headsAfter is PendingAfter without the lines, of a lane or a share.
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

// lineOf fills in what the row of an index says besides its key; when the row is
// damaged, what its record says.
func lineOf(tx *store.Tx, bucket string, key []byte, p *place) error {
	raw, err := tx.Get(bucket, key)
	if err == nil && p.parse(raw) {
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	r, found, err := getRecord(tx, p.record)
	if found {
		*p = placeOf(r)
	}
	if errors.Is(err, store.ErrDamaged) {
		return nil
	}
	return err
}
