package delivery

import (
	"errors"
	"time"

	"postern/store"
)

// putRecord stores a record. All changes of records go through putRecord or dropRecord. old is
// the record stored now, nil for a new one.
func (l *Ledger) putRecord(tx *store.Tx, r Record, old *Record) error {
	return errors.Join(
		tx.TakeID(records, r.ID),
		tx.Put(records, store.Key(r.ID), encodeRecord(r)),
		l.note(tx, &r, old),
	)
}

// dropRecord removes a record with its attempts, and the bodies that no other record needs.
// The record must not be in the indexes of a lane.
func (l *Ledger) dropRecord(tx *store.Tx, old Record) error {
	err := errors.Join(
		tx.Delete(records, store.Key(old.ID)),
		l.dropOwn(tx, old),
		l.note(tx, nil, &old),
	)
	if err == nil && old.EventSeq != 0 && old.ReplayOf != 0 {
		err = tx.Delete(holds, store.Key(old.EventSeq, old.ID))
	}
	if err != nil || old.EventSeq == 0 || old.keepsEvent(tx) {
		return err
	}
	return l.release(tx, old.EventSeq)
}

// Find returns one record; found is false if there is none.
func Find(tx *store.Tx, id uint64) (r Record, found bool, err error) {
	raw, err := tx.Get(records, store.Key(id))
	if err != nil || raw == nil {
		return r, false, err
	}
	if r, err = decodeRecord(id, raw); err != nil {
		return Record{}, false, tx.Unreadable(records, store.Key(id), err)
	}
	return r, true, nil
}

// addPending stores a record of a lane that is new or pending again, and adds it to the
// indexes: due at dueAt, given up at ExpiresAt. It reports whether the delivery may be sent at
// once.
func (l *Ledger) addPending(tx *store.Tx, r Record, old *Record) (head bool, err error) {
	if err := l.putRecord(tx, r, old); err != nil {
		return false, err
	}
	if old == nil && r.ReplayOf != 0 && r.EventSeq != 0 {
		err = tx.Put(holds, store.Key(r.EventSeq, r.ID), nil)
	}
	if r.Former != "" || r.ReplayOf != 0 {
		err = errors.Join(err, putExpiry(tx, r.ExpiresAt, expiryRecord, r.ID))
	}
	if err != nil {
		return false, err
	}
	return l.enter(tx, placeOf(r), r.DueAt())
}

// end ends a pending record that is in the indexes, and releases the next one of its line. A
// record whose retry failed returns to its former state.
func (l *Ledger) end(tx *store.Tx, old, r Record, state State) (ended Ended, err error) {
	follows, err := l.leave(tx, placeOf(old), old.DueAt())
	if err != nil {
		return ended, err
	}
	if r.Former != "" && state != Delivered {
		state = r.former()
	}
	r.State, r.Former, r.NextAttemptAt, r.Line = state, "", time.Time{}, 0
	if r.Lane == OutboxLane {
		if err := l.cfg.Outbox.Ended(tx, r.OutboxSeq, r.Attempts, r.LastStatus); err != nil {
			return ended, err
		}
		r.Lane = BatchLane
	}
	if !l.cfg.Log {
		return Ended{Record: r, Follows: follows}, l.dropRecord(tx, old)
	}
	if r.OwnBody && !l.wantsBody(r) {
		r.OwnBody = false
		err = tx.Delete(bodies, store.Key(r.ID))
	}
	if err = errors.Join(err, l.putRecord(tx, r, &old)); err == nil && r.EventSeq != 0 && !old.keepsEvent(tx) {
		err = l.release(tx, r.EventSeq)
	}
	return Ended{Record: r, Follows: follows}, err
}

// former returns the state of a retried record after its retry failed. A delivery that was
// dropped without an attempt becomes FAILED if an attempt was made.
func (r Record) former() State {
	if r.Former == Dropped && r.Attempts > 0 {
		return Failed
	}
	return r.Former
}

// keepsEvent reports whether the event of a record that ends now is kept in any case: a
// numbered event lives as long as any of the deliveries that it was written for may.
func (r Record) keepsEvent(tx *store.Tx) bool {
	return r.State == Pending && r.ReplayOf == 0 && r.Former == "" && tx.Steady().Before(r.ExpiresAt) &&
		!tx.Has(positions, Event{Seq: r.EventSeq, Instance: r.Instance}.positionKey())
}

// Remove removes a record with all that belongs to it, unless it is pending again.
func (l *Ledger) Remove(tx *store.Tx, id uint64) error {
	r, found, err := Find(tx, id)
	switch {
	case err != nil && !errors.Is(err, store.ErrDamaged):
		return err
	case found && r.State == Pending:
		return nil
	case found:
		return l.dropRecord(tx, r)
	}
	return l.removeUnreadable(tx, id)
}

// removeUnreadable removes the rows of a record that cannot be read. What else it refers to is
// unknown.
func (l *Ledger) removeUnreadable(tx *store.Tx, id uint64) error {
	w, err := l.digest.Row(tx, id)
	if err != nil {
		return err
	}
	if w.Exists() {
		l.noteRow(tx, change{old: &Record{ID: id, State: states[min(int(w.State()), len(states)-1)]}})
	}
	_, gone := tx.DeletePrefix(attempts, store.Key(id))
	return errors.Join(err, gone, tx.Delete(records, store.Key(id)), tx.Delete(bodies, store.Key(id)))
}
