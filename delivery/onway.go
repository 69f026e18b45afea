package delivery

import (
	"errors"
	"time"

	"postern/store"
)

// OnWay reports whether a delivery of a stored event is pending, or was attempted within
// grace. An event that is not kept has none.
func (l *Ledger) OnWay(tx *store.Tx, seq uint64, grace time.Duration) (bool, error) {
	e, found, err := getEvent(tx, seq)
	if errors.Is(err, store.ErrDamaged) || err == nil && !found {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ids, err := heldBy(tx, seq)
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
		if found && r.EventSeq == seq && (r.Waits() || tx.Now().Sub(r.LastAttemptAt) < grace) {
			return true, nil
		}
	}
	return false, nil
}
