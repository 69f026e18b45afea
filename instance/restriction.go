package instance

import (
	"slices"
	"time"

	"postern/event"
)

// endless is how long a restriction counts for which WhatsApp named no end,
// unless it is lifted before. It is bounded because the news that it is over
// can be missed; the first message afterwards shows whether it is.
const endless = 24 * time.Hour

// Restriction is what WhatsApp forbids an account. While it is in force its
// instance is benched: it sends nothing for batches. Single messages go out
// all the same, since answers are allowed.
type Restriction struct {
	Type    event.InstanceStatusType `json:"type"`
	Account string                   `json:"account"` // its JID: another account on the instance is free
	Until   event.Time               `json:"until"`
	Reason  string                   `json:"reason,omitempty"` // WhatsApp's word or code for it
}

// Restriction returns the restriction that is in force at now; of two, the one
// that ends later. ok is false when there is none.
func (r Record) Restriction(now time.Time) (found Restriction, ok bool) {
	for _, one := range r.Restrictions {
		if one.Account == r.OwnerJID && one.Until.After(now) && one.Until.After(found.Until.Time) {
			found, ok = one, true
		}
	}
	return found, ok
}

// restrict takes over what a fact told, of which one of each type is kept. The
// slice is replaced, for copies of the record share it.
func (r *Record) restrict(told *event.Restriction) {
	if told == nil {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(r.Restrictions), func(one Restriction) bool { return one.Type == told.Type })
	if !told.Lifted {
		kept = append(kept, Restriction{Type: told.Type, Account: r.OwnerJID, Until: event.At(told.Until), Reason: told.Reason})
	}
	r.Restrictions = kept
}

// bounded gives a restriction without an end one.
func bounded(told *event.Restriction) *event.Restriction {
	if told == nil || told.Lifted || !told.Until.IsZero() {
		return told
	}
	b := *told
	b.Until = time.Now().Add(endless)
	return &b
}

// tellRestrictions logs for the operator why batches leave an instance out.
func (r *Registry) tellRestrictions(before, rec Record) {
	for _, one := range rec.Restrictions {
		if !slices.Contains(before.Restrictions, one) {
			r.log.Warn("WhatsApp restricts the account; batches leave the instance out until then", "instance", rec.Name,
				"instance_id", rec.ID, "type", string(one.Type), "until", one.Until.String(), "reason", one.Reason)
		}
	}
	for _, one := range before.Restrictions {
		if !slices.ContainsFunc(rec.Restrictions, func(now Restriction) bool { return now.Type == one.Type }) {
			r.log.Info("WhatsApp lifted a restriction of the account", "instance", rec.Name,
				"instance_id", rec.ID, "type", string(one.Type), "reason", one.Reason)
		}
	}
}
