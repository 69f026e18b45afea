package delivery

import (
	"encoding/binary"
	"errors"
	"time"

	"postern/delivery/layout"
	"postern/store"
)

// Rows of the expiry index: of an event, for all records written with it, and of a record
// that was made, or became pending again, later.
const (
	expiryEvent  = byte('e')
	expiryRecord = byte('r')
)

func putExpiry(tx *store.Tx, at time.Time, tag byte, id uint64) error {
	return tx.Put(expiries, store.Key(uint64(layout.Millis(at)), tag, id), nil)
}

type expiry struct {
	at  time.Time
	tag byte
	id  uint64
}

func (e expiry) key() []byte { return store.Key(uint64(layout.Millis(e.at)), e.tag, e.id) }

// firstExpiries returns the first rows, up to limit, in order.
func firstExpiries(tx *store.Tx, limit int) (rows []expiry, err error) {
	err = tx.Walk(expiries, store.Range{}, func(k []byte) (bool, error) {
		if len(k) == 17 {
			rows = append(rows, expiry{layout.FromMillis(int64(binary.BigEndian.Uint64(k))), k[8], binary.BigEndian.Uint64(k[9:])})
		}
		return len(rows) < limit, nil
	})
	return rows, err
}

// Expire ends pending deliveries that have expired by now and removes stored events that are
// no longer needed, about limit of both together, in small steps. A delivery in flight
// ends as well, because its outcome may never come; Settle still notes a late outcome, and
// an accepted delivery then is DELIVERED. next is the time of the next call: zero if nothing
// is left to expire, not after now if there is more to do. It ignores what is emitted later,
// which ends by its own ExpiresAt.
func (l *Ledger) Expire(tx *store.Tx, now time.Time, limit int) (ended []Ended, next time.Time, err error) {
	rows, err := firstExpiries(tx, limit+1)
	if err != nil {
		return nil, next, err
	}
	x := &expiring{l: l, tx: tx, now: now}
	for i, row := range rows {
		if row.at.After(now) || i == limit || len(x.ended) >= limit {
			return x.ended, row.at, nil
		}
		if err := tx.Delete(expiries, row.key()); err != nil {
			return nil, next, err
		}
		if row.tag == expiryEvent {
			err = x.event(row.id)
		} else {
			err = x.record(row.id)
		}
		if err != nil {
			return nil, next, err
		}
	}
	return x.ended, time.Time{}, nil
}

type expiring struct {
	l     *Ledger
	tx    *store.Tx
	now   time.Time
	ended []Ended
}

// event ends the deliveries that were written with an event, and removes the event.
func (x *expiring) event(seq uint64) error {
	e, found, err := getEvent(x.tx, seq)
	if err != nil || !found {
		return IgnoreDamage(err)
	}
	for _, a := range e.To {
		if err := x.record(a.Due.Record); err != nil {
			return err
		}
	}
	if x.now.Before(e.ExpiresAt) {
		return nil
	}
	if e.Sequence != 0 { // both or neither has expired, whichever of its alarms this is
		alarm := expiry{e.ExpiresAt, expiryEvent, e.Seq}
		if err := errors.Join(x.tx.Delete(positions, e.positionKey()), x.tx.Delete(expiries, alarm.key())); err != nil {
			return err
		}
	}
	needed, err := x.l.needed(x.tx, e)
	if err != nil || needed {
		return err
	}
	return dropEvent(x.tx, e)
}

func (x *expiring) record(id uint64) error {
	old, found, err := Find(x.tx, id)
	if err != nil || !found {
		return IgnoreDamage(err)
	}
	if !old.Waits() || !old.over(x.now) {
		return nil
	}
	ended, err := x.l.end(x.tx, old, old, Expired)
	x.ended = append(x.ended, ended)
	return err
}

// IgnoreDamage returns nil for an error that wraps store.ErrDamaged, and err otherwise.
func IgnoreDamage(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		return nil
	}
	return err
}

// ExpiryAfter returns when the first delivery or stored event expires that has not expired at
// now; zero if there is none.
func ExpiryAfter(tx *store.Tx, now time.Time) (at time.Time, err error) {
	from := store.Key(uint64(max(0, now.UnixMilli())) + 1)
	err = tx.Walk(expiries, store.Range{From: from}, func(k []byte) (bool, error) {
		if len(k) < 8 {
			return true, nil
		}
		at = time.UnixMilli(int64(binary.BigEndian.Uint64(k))).UTC()
		return false, nil
	})
	return at, err
}
