package instance

import (
	"context"
	"fmt"
	"time"

	"postern/event"
	"postern/store"
)

// WhatsApp unlinks the devices of an account whose phone it has not seen for about 14 days. The record has
// the phone's last sign: a pairing, and what comes from the phone itself.

// phoneStep is the least time between two signs of a phone that are stored.
const phoneStep = time.Hour

// sawPhone stores a sign of the account's phone, unless one of less than phoneStep before it is stored.
func (r *Registry) sawPhone(ctx context.Context, id int64, at time.Time) error {
	now := r.cfg.Store.Now()
	if at.After(now) {
		at = now
	}
	e := r.entry(id)
	if e == nil || !e.record.Load().phoneOlder(at, now) {
		return nil
	}
	e.change.Lock()
	defer e.change.Unlock()
	rec := *e.record.Load()
	if e.gone || !rec.phoneOlder(at, now) {
		return nil
	}
	rec.PhoneSeenAt = event.At(at)
	if err := r.cfg.Store.Update(ctx, func(tx *store.Tx) error { return store.PutJSON(tx, instances, store.Key(id), rec) }); err != nil {
		return fmt.Errorf("sign of the phone of instance %d: %w", id, err)
	}
	e.record.Store(&rec)
	r.tellChange(rec.ID, rec.Name, false)
	return nil
}

// phoneOlder reports whether the stored sign of the phone is so much older than one at a time that this is stored.
// A stored one of the future was made under a clock that was ahead, and counts as none.
func (r *Record) phoneOlder(at, now time.Time) bool {
	return r.PhoneSeenAt.IsZero() || r.PhoneSeenAt.After(now) || at.Sub(r.PhoneSeenAt.Time) >= phoneStep
}
