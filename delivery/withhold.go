package delivery

import (
	"errors"
	"time"

	"postern/delivery/digest"
	"postern/event"
	"postern/store"
)

// The body of a credential is for the destination that it was made for: someone who changes
// the destination must not get it. The commit that changes a URL or a header withholds the
// bodies that are stored and pending. Record.Access covers everything that happens beside
// that commit: a credential is sent, written, retried and replayed only if its Access is that
// of the destination.

// Withhold removes the bodies of credentials of a lane that were made for a destination with
// another access; access 0 means that the destination is removed. Pending records become
// CANCELLED with ReasonChanged, as do ended ones whose body is kept, except delivered ones,
// which keep their state. It must be called in the commit that changes the destination, and
// [Ledger.Freed] after it. It takes some milliseconds for a million records.
func (l *Ledger) Withhold(tx *store.Tx, lane Lane, access uint64) (ended []Ended, err error) {
	ids, err := l.credentials(tx, lane)
	for _, id := range ids {
		if err != nil {
			return nil, err
		}
		var e Ended
		var done bool
		if e, done, err = l.withholdOne(tx, lane, access, id); done {
			ended = append(ended, e)
		}
	}
	return ended, err
}

// credentials returns the records of credentials of a lane.
func (l *Ledger) credentials(tx *store.Tx, lane Lane) (ids []uint64, err error) {
	sel := Selection{Filter: Filter{Instance: lane.Instance, Target: lane.Target}}
	if lane.Endpoint != "" {
		sel.Endpoint = &lane.Endpoint
	}
	for _, kind := range kinds {
		if kind.IsCredential() {
			sel.Events = append(sel.Events, kind)
		}
	}
	err = l.Each(tx, sel, 0, digest.Quick, func(id uint64) (bool, error) {
		ids = append(ids, id)
		return true, nil
	})
	return ids, err
}

// withholdOne is Withhold for one record.
func (l *Ledger) withholdOne(tx *store.Tx, lane Lane, access uint64, id uint64) (ended Ended, done bool, err error) {
	old, found, err := Find(tx, id)
	if err != nil || !found {
		return ended, false, IgnoreDamage(err)
	}
	if old.Lane != lane || !old.Event.IsCredential() || old.Access == access || !old.Waits() && !KeepsBody(tx, old) {
		return ended, false, nil
	}
	ended, err = l.withhold(tx, old)
	return ended, err == nil, err
}

// withhold removes the body of a credential.
func (l *Ledger) withhold(tx *store.Tx, old Record) (Ended, error) {
	return l.strip(tx, old, old.withheld())
}

// strip puts bare in the place of a record, removes its body, and takes it out of its line if it waits.
func (l *Ledger) strip(tx *store.Tx, old, bare Record) (ended Ended, err error) {
	ended.Record = bare
	if old.Waits() {
		if ended.Follows, err = l.leave(tx, placeOf(old), old.DueAt()); err != nil {
			return ended, err
		}
	}
	if !l.cfg.Log && !old.InMemory() {
		return ended, l.dropRecord(tx, old)
	}
	if old.OwnBody {
		err = tx.Delete(bodies, store.Key(old.ID))
	}
	if old.EventSeq != 0 && old.ReplayOf != 0 {
		err = errors.Join(err, tx.Delete(holds, store.Key(old.EventSeq, old.ID)))
	}
	err = errors.Join(err, l.putRecord(tx, bare, &old))
	if err != nil || old.EventSeq == 0 {
		return ended, err
	}
	return ended, l.release(tx, old.EventSeq)
}

// withheld returns the record without its body. If its delivery is in the memory queue, its
// end is still to come.
func (r Record) withheld() Record {
	waitsInMemory := r.InMemory()
	r.OwnBody, r.EventSeq = false, 0
	if waitsInMemory {
		return r
	}
	if r.State == Delivered || r.State == Pending && r.Former == Delivered {
		r.State = Delivered
	} else {
		r.State, r.LastError = Cancelled, ReasonChanged
	}
	r.Former, r.NextAttemptAt, r.Line = "", time.Time{}, 0
	return r
}

// MadeFor reports whether a record may go to a destination: a credential may go only to the
// destination that it was made for.
func (r *Record) MadeFor(to event.Destination) bool {
	return !r.Event.IsCredential() || to.URL != "" && r.Access == to.Access()
}

// astray reports whether the destination of a credential is known to have changed.
func (l *Ledger) astray(r *Record) bool {
	if !r.Event.IsCredential() {
		return false
	}
	to, status := l.cfg.Resolve(r.Lane)
	return status == Gone || to.URL != "" && !r.MadeFor(to)
}

// WithholdPending is Withhold for one delivery that was found at its sending to be for another
// destination.
func (l *Ledger) WithholdPending(tx *store.Tx, record uint64) (follows *Due, err error) {
	old, found, err := Find(tx, record)
	if err != nil || !found || !old.Waits() {
		return nil, err
	}
	ended, err := l.withhold(tx, old)
	return ended.Follows, err
}

var globalAccessKey = []byte("global access")

// WithholdGlobal is Withhold for the global webhook. Its URL is not in the file, so it stores
// the access that applied last.
func (l *Ledger) WithholdGlobal(tx *store.Tx, access uint64) ([]Ended, error) {
	same, err := SameGlobal(tx, access)
	if err != nil || same {
		return nil, err
	}
	if err := tx.Put(logs, globalAccessKey, store.Key(access)); err != nil {
		return nil, err
	}
	return l.Withhold(tx, GlobalLane, access)
}

// SameGlobal reports whether the access of the global webhook is the one that applied last.
func SameGlobal(tx *store.Tx, access uint64) (bool, error) {
	raw, err := tx.Get(logs, globalAccessKey)
	return string(raw) == string(store.Key(access)), IgnoreDamage(err)
}
