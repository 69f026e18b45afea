package delivery

import (
	"errors"
	"time"

	"postern/store"
)

// OnWay reports whether a delivery of a stored event is pending, or was attempted within
// grace. An event that is not kept has none. unlogged: its deliveries have ended, and without
// the log nothing says when.
func (l *Ledger) OnWay(tx *store.Tx, seq uint64, grace time.Duration) (is, unlogged bool, err error) {
	e, found, err := getEvent(tx, seq)
	if errors.Is(err, store.ErrDamaged) || err == nil && !found {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	now := tx.Now()
	is, err = anyDelivery(tx, e, func(r Record) bool { return r.Waits() || now.Sub(r.LastAttemptAt) < grace })
	return is, !is && !l.cfg.Log && len(e.To) > 0, err
}
