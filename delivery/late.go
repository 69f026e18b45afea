package delivery

import (
	"errors"

	"postern/store"
)

// settleLate notes an attempt that was under way when its delivery expired, was cancelled, or
// returned to its state before a retry. If the attempt was accepted, the delivery becomes
// DELIVERED in any case; otherwise the reason of its end stays.
func (l *Ledger) settleLate(tx *store.Tx, old Record, a Attempt, accepted bool) error {
	r := old.attempted(a)
	if !accepted && old.State == Expired { // the reason is that of the last attempt
		return l.putRecord(tx, r, &old)
	}
	if !accepted {
		ended := r
		ended.LastError = old.LastError
		return errors.Join(l.putRecord(tx, r, &old), l.putRecord(tx, ended, &r))
	}
	r.State = Delivered
	var err error
	if r.OwnBody && !l.wantsBody(r) {
		r.OwnBody = false
		err = tx.Delete(bodies, store.Key(r.ID))
	}
	if err = errors.Join(err, l.putRecord(tx, r, &old)); err != nil || r.EventSeq == 0 {
		return err
	}
	return l.release(tx, r.EventSeq)
}
