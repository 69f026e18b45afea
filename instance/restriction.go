package instance

import (
	"context"
	"slices"
	"time"

	"postern/event"
)

// How long a restriction counts for which nobody named an end, unless it is
// lifted before. They are bounded because the news that it is over can be
// missed; the first message afterwards shows whether it is.
const (
	banLasts      = 24 * time.Hour
	timelockLasts = 6 * time.Hour
)

// refusedKept is how many people are remembered to whom a message was refused
// although the account should know them. More of them, and it counts as
// forbidden to write to anybody.
const refusedKept = 20

// Restriction is what WhatsApp forbids an account, or what its refusals show.
// While it is in force batches leave the instance out: for everybody, or for
// strangers alone. Single messages go out all the same, since answers are
// allowed.
type Restriction struct {
	Type     event.InstanceStatusType `json:"type"`
	Account  string                   `json:"account"` // its JID: another account on the instance is free
	Since    event.Time               `json:"since,omitzero"`
	Until    event.Time               `json:"until"`
	Inferred bool                     `json:"inferred,omitempty"` // from refusals; else WhatsApp gave notice
	Reason   string                   `json:"reason,omitempty"`   // WhatsApp's word or code for it
	Code     int                      `json:"code,omitempty"`     // of the refusals
	Count    int                      `json:"count,omitempty"`    // how many there were in a row
	Refused  []string                 `json:"refused,omitempty"`  // numbers that should be known and were refused
	Everyone bool                     `json:"everyone,omitempty"` // a time lock that keeps the known back too
	Ended    bool                     `json:"ended,omitempty"`    // a message went out after the refusals in a row
}

// Strangers reports whether only those are kept back whom the account does not
// know.
func (one Restriction) Strangers() bool {
	return one.Type == event.StatusAccountReachoutTimelock && !one.Everyone
}

// Kind names the restriction for clients.
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

// Source tells who found out, for clients: notified or inferred.
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

// plain is the restriction without its list, to be compared.
func (one Restriction) plain() any {
	return [...]any{one.Type, one.Account, one.Since, one.Until, one.Inferred, one.Reason, one.Code, one.Count, one.Everyone, one.Ended}
}

func sameRestrictions(a, b []Restriction) bool { return slices.EqualFunc(a, b, Restriction.same) }

// InForce returns the restrictions of the account that are in force at now.
func (r Record) InForce(now time.Time) (all []Restriction) {
	for _, one := range r.Restrictions {
		if one.Account == r.OwnerJID && one.Until.After(now) {
			all = append(all, one)
		}
	}
	return all
}

// Restriction returns the restriction that is in force at now; of several, one
// that keeps everybody back, and of those alike the one that ends later. ok is
// false when there is none.
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

// last returns the record's restriction of a type, whether it is in force or
// over.
func (r Record) last(kind event.InstanceStatusType) (found Restriction, ok bool) {
	for _, one := range r.Restrictions {
		if one.Type == kind && one.Account == r.OwnerJID {
			return one, true
		}
	}
	return found, false
}

// restrict takes over what a fact told, of which one of each type is kept. The
// slice is replaced, for copies of the record share it. What WhatsApp names
// counts for more than what its refusals show.
func (r *Record) restrict(told *event.Restriction, now time.Time) {
	if told == nil {
		return
	}
	before, known := r.last(told.Type)
	known = known && before.Until.After(now)
	if known && told.Inferred && !before.Inferred {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(r.Restrictions), func(one Restriction) bool { return one.Type == told.Type })
	if !told.Lifted {
		one := Restriction{
			Type: told.Type, Account: r.OwnerJID, Since: event.At(now), Until: event.At(told.Until),
			Inferred: told.Inferred, Reason: told.Reason, Code: told.Code, Count: told.Count,
		}
		if known {
			one.Since, one.Refused, one.Everyone = before.Since, before.Refused, before.Everyone
		}
		kept = append(kept, one)
	}
	r.Restrictions = kept
}

// refuse notes somebody to whom a message was refused although the account
// should know them, so that a batch does not try them again and again.
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

// bounded gives a restriction without an end one.
func bounded(told *event.Restriction) *event.Restriction {
	if told == nil || told.Lifted || !told.Until.IsZero() {
		return told
	}
	b := *told
	b.Until = time.Now().Add(banLasts)
	if b.Type == event.StatusAccountReachoutTimelock {
		b.Until = time.Now().Add(timelockLasts)
	}
	return &b
}

// infer stores a restriction that refusals show, tells of one that begins by
// status.instance, and returns the one that is in force then. number is whom it
// was found out by, if the account should know them; else it is empty.
func (r *Registry) infer(ctx context.Context, id int64, told event.Restriction, number string) (Restriction, error) {
	told.Inferred = true
	told = *bounded(&told)
	now := time.Now()
	began := false
	t := r.telling(id)
	rec, _, err := r.changeAndTell(ctx, id, func(rec *Record) bool {
		before := rec.Restrictions
		was, known := rec.last(told.Type)
		known = known && was.Until.After(now)
		began = !known
		if !known || was.Inferred && told.Until.Sub(was.Until.Time) >= time.Minute {
			rec.restrict(&told, now)
		}
		if number != "" {
			rec.refuse(number)
		}
		return !sameRestrictions(rec.Restrictions, before)
	}, t, func(rec *Record) {
		if one, _ := rec.last(told.Type); began {
			t.add(event.StatusInstance, one.told(), event.About{}, "")
		}
	})
	if err != nil {
		return Restriction{}, err
	}
	r.publish(ctx, t)
	one, _ := rec.last(told.Type)
	return one, nil
}

// told is the data of status.instance about a restriction that refusals show.
func (one Restriction) told() event.InstanceStatus {
	message := "WhatsApp does not let the account write to people it does not know"
	if !one.Strangers() {
		message = "WhatsApp refused several messages in a row; batches leave the instance out"
	}
	return event.InstanceStatus{
		Type: event.StatusAccountRestricted, Status: "active", Message: message,
		Extra: event.Extra{"reason": map[string]any{"code": one.Code, "count": one.Count, "until": one.Until}},
	}
}

// tellRestrictions logs for the operator why batches leave an instance out.
func (r *Registry) tellRestrictions(before, rec Record) {
	for _, one := range rec.Restrictions {
		if !slices.ContainsFunc(before.Restrictions, one.same) {
			r.log.Warn("WhatsApp restricts the account; batches leave the instance out until then; let it rest, write to people who wrote first, and see docs/accounts.md", "instance", rec.Name,
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
