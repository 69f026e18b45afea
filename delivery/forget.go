package delivery

import (
	"bytes"
	"encoding/binary"
	"errors"

	"postern/delivery/digest"
	"postern/store"
)

// ForgetInstance marks everything of an instance for removal: its events, records, bodies and
// replays. Its cost does not depend on their number; Start's goroutine removes them in small
// steps, also after a crash. The instance must not emit any more.
func (l *Ledger) ForgetInstance(tx *store.Tx, instance int64) error {
	l.kick()
	return tx.Put(forgets, store.Key(instance), nil)
}

// forgotten returns the first instance with something left to remove, 0 if there is none.
func forgotten(tx *store.Tx) (instance int64, err error) {
	err = tx.Walk(forgets, store.Range{}, func(k []byte) (bool, error) {
		if len(k) == 8 {
			instance = int64(binary.BigEndian.Uint64(k))
		}
		return instance == 0, nil
	})
	return instance, err
}

// sweepInstance removes about limit things of a deleted instance, and removes its mark once
// nothing is left.
func (l *Ledger) sweepInstance(tx *store.Tx, instance int64, limit int) error {
	for _, sweep := range []func(*store.Tx, int64, int) (bool, error){l.sweepWaiting, l.sweepEvents, l.forgetLogged} {
		if some, err := sweep(tx, instance, limit); err != nil || some {
			return err
		}
	}
	var err error
	if l.hooks.Forget != nil {
		err = l.hooks.Forget(tx, instance)
	}
	return errors.Join(err, tx.Delete(newest, store.Key(instance)), tx.Delete(logs, erasedKey(instance)), tx.Delete(forgets, store.Key(instance)))
}

// sweepWaiting removes pending deliveries: the heads, whose followers become heads.
func (l *Ledger) sweepWaiting(tx *store.Tx, instance int64, limit int) (some bool, err error) {
	var first []place
	err = tx.Walk(heads, store.Range{Prefix: store.Key(instance)}, func(k []byte) (bool, error) {
		if lane, rest, ok := parseLane(k); ok && len(rest) == 8 {
			first = append(first, place{lane: lane.whole(), instance: instance, record: binary.BigEndian.Uint64(rest)})
		}
		return len(first) < limit, nil
	})
	for _, p := range first {
		if err == nil {
			err = l.sweepOne(tx, p)
		}
	}
	return len(first) > 0, err
}

func (l *Ledger) sweepOne(tx *store.Tx, p place) error {
	old, found, err := Find(tx, p.record)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	if !found || !old.Waits() {
		_, err := l.unindex(tx, p)
		return err
	}
	if _, err := l.leave(tx, placeOf(old), old.DueAt()); err != nil {
		return err
	}
	return l.dropRecord(tx, old)
}

// sweepEvents removes stored events with the records that were written with them.
func (l *Ledger) sweepEvents(tx *store.Tx, instance int64, limit int) (some bool, err error) {
	var keys [][]byte
	err = tx.Walk(positions, store.Range{Prefix: store.Key(instance)}, func(k []byte) (bool, error) {
		keys = append(keys, bytes.Clone(k))
		return len(keys) < limit, nil
	})
	for _, k := range keys {
		if err != nil {
			return true, err
		}
		raw, errGet := tx.Get(positions, k)
		if err = IgnoreDamage(errGet); err == nil && len(raw) == 8 {
			err = l.sweepEvent(tx, binary.BigEndian.Uint64(raw))
		}
		err = errors.Join(err, tx.Delete(positions, k))
	}
	return len(keys) > 0, err
}

func (l *Ledger) sweepEvent(tx *store.Tx, seq uint64) error {
	e, found, err := getEvent(tx, seq)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	if !found {
		return tx.Delete(events, store.Key(seq)) // damaged: the owners of its records are unknown
	}
	for _, a := range e.To {
		r, known, err := Find(tx, a.Due.Record)
		if err = IgnoreDamage(err); err == nil && known && r.EventSeq == seq {
			err = l.dropRecord(tx, r)
		}
		if err != nil {
			return err
		}
	}
	return dropEvent(tx, e)
}

// A deleted instance may still have deliveries in memory, whose records must no longer be
// written. So its mark in delivery_log stays until the next start, when that memory is gone.
// During the sweep the mark holds the place to continue from.

var gonePrefix = []byte("gone")

func goneKey(instance int64) []byte { return store.Key(gonePrefix, instance) }

// isGone reports whether an instance was deleted; known caches it.
func isGone(tx *store.Tx, instance int64, known map[int64]bool) bool {
	gone, looked := known[instance]
	if !looked {
		gone = tx.Has(forgets, store.Key(instance)) || tx.Has(logs, goneKey(instance))
		known[instance] = gone
	}
	return gone
}

// forgetLogged removes up to limit records of a deleted instance that are in no index of a
// lane. more reports whether some may be left.
func (l *Ledger) forgetLogged(tx *store.Tx, instance int64, limit int) (more bool, err error) {
	raw, err := tx.Get(logs, goneKey(instance))
	if err = IgnoreDamage(err); err != nil {
		return false, err
	}
	from := uint64(1)
	if len(raw) == 8 {
		from = binary.BigEndian.Uint64(raw)
	}
	ids, next, err := l.recordsOf(tx, instance, from, limit)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if err := l.forgetOne(tx, instance, id); err != nil {
			return false, err
		}
	}
	return next != digest.MaxID, tx.Put(logs, goneKey(instance), store.Key(next))
}

// forgetLook is the number of blocks of the digest that one search covers.
const forgetLook = 2000

// recordsOf returns some records of an instance from an id on, and the id to continue with:
// digest.MaxID at the end.
func (l *Ledger) recordsOf(tx *store.Tx, instance int64, from uint64, limit int) (found []uint64, next uint64, err error) {
	m, err := l.digest.Match(tx, digest.Query{Instance: instance})
	if err != nil {
		return nil, 0, err
	}
	next, seen := uint64(digest.MaxID), 0
	_, err = l.digest.Scan(tx, digest.From(from), 0, func(in digest.Block) (bool, error) {
		if seen++; seen > forgetLook {
			next = digest.FirstOf(in.No())
			return false, nil
		}
		_, err := m.Rows(in, 0, func(id uint64) (bool, error) {
			if len(found) == limit {
				next = id
				return false, nil
			}
			found = append(found, id)
			return true, nil
		})
		return next == digest.MaxID, err
	})
	return found, next, err
}

// forgetOne removes a record that is in no index. A record that still is in one, which only
// damaged indexes can cause, goes when it expires.
func (l *Ledger) forgetOne(tx *store.Tx, instance int64, id uint64) error {
	r, found, err := Find(tx, id)
	switch {
	case found && (r.Instance != instance || r.Waits()):
		return nil
	case found:
		return l.dropRecord(tx, r)
	case errors.Is(err, store.ErrDamaged) || err == nil:
		return l.removeUnreadable(tx, id)
	}
	return err
}
