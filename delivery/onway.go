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
	now := tx.Now()
	return anyDelivery(tx, e, func(r Record) bool { return r.Waits() || now.Sub(r.LastAttemptAt) < grace })
}
