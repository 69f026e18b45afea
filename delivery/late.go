package delivery

import (
	"errors"

	"postern/store"
)

// settleLate notes an attempt that was under way as its delivery was cancelled, or was
// again what it had been before a retry: the receiver has the event for all that. One that was accepted is delivered, whatever was
// decided meanwhile; after another one the reason of the end stays.
func (l *Ledger) settleLate(tx *store.Tx, old Record, a Attempt, accepted bool) error {
	r := old.attempted(a)
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
