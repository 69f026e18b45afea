package delivery

import (
	"encoding/binary"
	"errors"

	"postern/store"
)

// release removes a stored event once it has expired and no record needs its body.
func (l *Ledger) release(tx *store.Tx, seq uint64) error {
	e, found, err := getEvent(tx, seq)
	if errors.Is(err, store.ErrDamaged) || err == nil && !found {
		return nil
	}
	if err != nil || tx.Steady().Before(e.ExpiresAt) {
		return err
	}
	needed, err := l.needed(tx, e)
	if err != nil || needed {
		return err
	}
	return dropEvent(tx, e)
}

// needed reports whether a delivery of the event is pending, or may be repeated.
func (l *Ledger) needed(tx *store.Tx, e Event) (bool, error) {
	return anyDelivery(tx, e, l.wantsBody)
}

// anyDelivery reports whether a delivery of the event is as one wants it.
func anyDelivery(tx *store.Tx, e Event, wanted func(Record) bool) (bool, error) {
	ids, err := heldBy(tx, e.Seq)
	if err != nil {
		return false, err
	}
	for _, a := range e.To {
		ids = append(ids, a.Due.Record)
	}
	for _, id := range ids {
		r, found, err := Find(tx, id)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return false, err
		}
		if found && r.EventSeq == e.Seq && wanted(r) {
			return true, nil
		}
	}
	return false, nil
}

// wantsBody reports whether the body of a record is kept beyond the life of its event.
func (l *Ledger) wantsBody(r Record) bool {
	switch {
	case r.State == Pending || l.cfg.Bodies == BodiesAll:
		return true
	case l.cfg.Bodies == BodiesNone:
		return false
	}
	return r.State != Delivered
}

// heldBy returns the later records that have the event's body.
func heldBy(tx *store.Tx, seq uint64) (ids []uint64, err error) {
	err = tx.Walk(holds, store.Range{Prefix: store.Key(seq)}, func(k []byte) (bool, error) {
		if len(k) == 16 {
			ids = append(ids, binary.BigEndian.Uint64(k[8:]))
		}
		return true, nil
	})
	return ids, err
}

// dropEvent removes an event. Its rows in the expiry index stay and are skipped later.
func dropEvent(tx *store.Tx, e Event) error {
	_, err := tx.DeletePrefix(holds, store.Key(e.Seq))
	return errors.Join(err, tx.Delete(events, store.Key(e.Seq)), tx.Delete(positions, e.positionKey()))
}
