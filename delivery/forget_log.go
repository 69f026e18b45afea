package delivery

import (
	"encoding/binary"
	"errors"

	"postern/delivery/digest"
	"postern/store"
)

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
