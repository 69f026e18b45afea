package delivery

import (
	"errors"

	"postern/store"
)

// CancelLane ends up to limit pending deliveries of a lane, oldest first, as CANCELLED with
// the reason. more reports whether some are left. Batch events that wait in the outbox are
// not cancelled.
func (l *Ledger) CancelLane(tx *store.Tx, lane Lane, reason string, limit int) (ended []Ended, more bool, err error) {
	for done := 0; done < limit; {
		first, err := headsAfter(tx, lane, 0, limit-done)
		if err != nil || len(first) == 0 {
			return ended, false, err
		}
		for _, d := range first {
			e, known, err := l.cancel(tx, place{lane: lane, instance: lane.Instance, record: d.Record}, reason)
			if err != nil {
				return nil, false, err
			}
			if done++; known {
				ended = append(ended, e)
			}
		}
	}
	first, err := headsAfter(tx, lane, 0, 1)
	return ended, len(first) > 0, err
}

// cancel ends the head of a line. known is false if its record cannot be read or was not
// pending; cancel removes the delivery from the indexes in any case.
func (l *Ledger) cancel(tx *store.Tx, p place, reason string) (ended Ended, known bool, err error) {
	old, found, err := Find(tx, p.record)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return ended, false, err
	}
	if !found || !old.Waits() {
		_, err = l.unindex(tx, p)
		return ended, false, err
	}
	r := old
	r.LastError = reason
	ended, err = l.end(tx, old, r, Cancelled)
	return ended, true, err
}

// CancelRecord ends a pending delivery as CANCELLED with the reason. done is false if it was not
// pending, or cannot be read.
func (l *Ledger) CancelRecord(tx *store.Tx, record uint64, reason string) (ended Ended, done bool, err error) {
	old, found, err := Find(tx, record)
	if err != nil || !found || !old.Waits() {
		return ended, false, IgnoreDamage(err)
	}
	r := old
	r.LastError = reason
	ended, err = l.end(tx, old, r, Cancelled)
	return ended, err == nil, err
}
