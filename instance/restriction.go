package instance

import (
	"context"
	"slices"
	"time"

	"postern/event"
)

// How long a restriction without a known end lasts, unless lifted before. They are
// bounded because the notice of their end can be missed; the next message afterwards
// shows whether they still hold.
const (
	banLasts      = 24 * time.Hour
	timelockLasts = 6 * time.Hour
)

// refusedKept is the number of known people remembered to whom a message was refused.
// Beyond it, writing counts as forbidden to everyone.
const refusedKept = 20

// Restriction is what WhatsApp forbids an account, by notice or as inferred from
// refusals. While it is in force, batches skip the instance for everyone, or for
// strangers only. Single messages are still sent, since answers are allowed.
type Restriction struct {
	Type     event.InstanceStatusType `json:"type"`
	Account  string                   `json:"account"` // its JID; another account on the instance is not restricted
	Since    event.Time               `json:"since,omitzero"`
	Until    event.Time               `json:"until"`
	Inferred bool                     `json:"inferred,omitempty"` // inferred from refusals, not notified by WhatsApp
	Reason   string                   `json:"reason,omitempty"`   // WhatsApp's term or code
	Code     int                      `json:"code,omitempty"`     // of the refusals
	Count    int                      `json:"count,omitempty"`    // number of refusals in a row
	Refused  []string                 `json:"refused,omitempty"`  // known numbers that were refused
	Everyone bool                     `json:"everyone,omitempty"` // a time lock that also applies to known people
	Ended    bool                     `json:"ended,omitempty"`    // a message succeeded after the refusals in a row
}

// Strangers reports whether the restriction applies only to people whom the account does
// not know.
func (one Restriction) Strangers() bool {
	return one.Type == event.StatusAccountReachoutTimelock && !one.Everyone
}

// Kind returns the restriction's name for clients.
func (one Restriction) Kind() string {
	switch one.Type {
	case event.StatusTemporaryBan:
		return "temporary_ban"
	case event.StatusAccountRestricted:
		return "failure_streak"
	default:
		return "reachout_timelock"
	}
}

// Source returns how the restriction was found, for clients: notified or inferred.
func (one Restriction) Source() string {
	if one.Inferred {
		return "inferred"
	}
	return "notified"
}

func (one Restriction) same(other Restriction) bool {
	refused := slices.Equal(one.Refused, other.Refused)
	one.Refused, other.Refused = nil, nil
	return refused && one.plain() == other.plain()
}

// plain returns the restriction without its list, for comparison.
func (one Restriction) plain() any {
	return [...]any{one.Type, one.Account, one.Since, one.Until, one.Inferred, one.Reason, one.Code, one.Count, one.Everyone, one.Ended}
}

func sameRestrictions(a, b []Restriction) bool { return slices.EqualFunc(a, b, Restriction.same) }

// InForce returns the account's restrictions in force at now.
func (r Record) InForce(now time.Time) (all []Restriction) {
	for _, one := range r.Restrictions {
		if one.Account == r.OwnerJID && !one.over(now) {
			all = append(all, one)
		}
	}
	return all
}

// Restriction returns the restriction in force at now. Of several it prefers one that
// applies to everyone, then the one that ends later. ok is false if there is none.
func (r Record) Restriction(now time.Time) (found Restriction, ok bool) {
	for _, one := range r.InForce(now) {
		worse := found.Strangers() && !one.Strangers()
		alike := found.Strangers() == one.Strangers()
		if !ok || worse || alike && one.Until.After(found.Until.Time) {
			found, ok = one, true
		}
	}
	return found, ok
}

// over reports whether the restriction has ended at now. One that began after now was
// found under a clock that was ahead, and so was its end, unless WhatsApp named an
// earlier one. If it still holds, the next refusal shows it.
func (one Restriction) over(now time.Time) bool {
	return !one.Until.After(now) || one.Since.After(now.Add(clockSkew)) && one.Until.After(one.Since.Time)
}

// last returns the record's restriction of a type, in force or ended.
func (r Record) last(kind event.InstanceStatusType) (found Restriction, ok bool) {
	for _, one := range r.Restrictions {
		if one.Type == kind && one.Account == r.OwnerJID {
			return one, true
		}
	}
	return found, false
}

// restrict stores a restriction, at most one of each type. It replaces the slice, which
// copies of the record share. A notice of WhatsApp takes precedence over inference.
func (r *Record) restrict(next *event.Restriction, now time.Time) {
	if next == nil {
		return
	}
	before, known := r.last(next.Type)
	known = known && !before.over(now)
	if known && next.Inferred && !before.Inferred {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(r.Restrictions), func(one Restriction) bool { return one.Type == next.Type })
	if !next.Lifted {
		one := Restriction{
			Type: next.Type, Account: r.OwnerJID, Since: event.At(now), Until: event.At(next.Until),
			Inferred: next.Inferred, Reason: next.Reason, Code: next.Code, Count: next.Count,
		}
		if known {
			one.Since, one.Refused, one.Everyone = before.Since, before.Refused, before.Everyone
		}
		kept = append(kept, one)
	}
	r.Restrictions = kept
}

// refuse records a known person to whom a message was refused, so that a batch does not
// retry them.
func (r *Record) refuse(number string) {
	kept := slices.Clone(r.Restrictions)
	for i, one := range kept {
		if one.Type != event.StatusAccountReachoutTimelock || slices.Contains(one.Refused, number) {
			continue
		}
		kept[i].Refused = append(slices.Clone(one.Refused), number)
		kept[i].Everyone = one.Everyone || len(kept[i].Refused) > refusedKept
	}
	r.Restrictions = kept
}

// bounded returns a restriction with an end.
func bounded(next *event.Restriction, now time.Time) *event.Restriction {
	if next == nil || next.Lifted || !next.Until.IsZero() {
		return next
	}
	b := *next
	b.Until = now.Add(banLasts)
	if b.Type == event.StatusAccountReachoutTimelock {
		b.Until = now.Add(timelockLasts)
	}
	return &b
}

// infer stores an inferred restriction, reports a new one by status.instance, and returns
// the one then in force. number is the known person whose refusal showed it, else empty.
func (r *Registry) infer(ctx context.Context, id int64, next event.Restriction, number string) (Restriction, error) {
	next.Inferred = true
	now := r.cfg.Store.Now()
	next = *bounded(&next, now)
	began := false
	t := r.source(id).Writer()
	rec, _, err := r.changeAndTell(ctx, id, func(rec *Record) bool {
		before := rec.Restrictions
		was, known := rec.last(next.Type)
		known = known && !was.over(now)
		began = !known
		if !known || was.Inferred && next.Until.Sub(was.Until.Time) >= time.Minute {
			rec.restrict(&next, now)
		}
		if number != "" {
			rec.refuse(number)
		}
		return !sameRestrictions(rec.Restrictions, before)
	}, t, func(rec *Record) {
		if one, _ := rec.last(next.Type); began {
			t.Add(event.StatusInstance, one.statusEvent(), event.About{}, "")
		}
	})
	if err != nil {
		return Restriction{}, err
	}
	t.PublishStored(ctx)
	one, _ := rec.last(next.Type)
	return one, nil
}

// statusEvent returns the status.instance data of an inferred restriction.
func (one Restriction) statusEvent() event.InstanceStatus {
	message := "WhatsApp does not let the account write to people it does not know"
	if !one.Strangers() {
		message = "WhatsApp refused several messages in a row; batches leave the instance out"
	}
	return event.InstanceStatus{
		Type: event.StatusAccountRestricted, Status: "active", Message: message,
		Extra: event.Extra{"reason": map[string]any{"code": one.Code, "count": one.Count, "until": one.Until}},
	}
}

// tellRestrictions logs why batches skip an instance.
func (r *Registry) tellRestrictions(before, rec Record) {
	for _, one := range rec.Restrictions {
		if !slices.ContainsFunc(before.Restrictions, one.same) {
			r.log.Warn("WhatsApp restricts the account; batches skip the instance until then; let it rest, write to people who wrote first, and see docs/accounts.md", "instance", rec.Name,
				"instance_id", rec.ID, "type", string(one.Type), "kind", one.Kind(), "source", one.Source(), "until", one.Until.String(), "reason", one.Reason,
				"strangers_only", one.Strangers(), "code", one.Code, "count", one.Count)
		}
	}
	for _, one := range before.Restrictions {
		if !slices.ContainsFunc(rec.Restrictions, func(now Restriction) bool { return now.Type == one.Type }) {
			r.log.Info("WhatsApp lifted a restriction of the account", "instance", rec.Name,
				"instance_id", rec.ID, "type", string(one.Type), "kind", one.Kind(), "reason", one.Reason)
		}
	}
}
