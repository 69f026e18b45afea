package instance

import (
	"strings"
	"time"

	"postern/delivery"
	"postern/event"
)

// Resolve returns the current destination of a lane and its status. The destination is
// empty if there is none or its options are unreadable.
func (r *Registry) Resolve(lane delivery.Lane) (event.Destination, delivery.Status) {
	if lane.Target == event.TargetGlobal {
		return r.resolveGlobal(lane.Flow)
	}
	e := r.entry(lane.Instance)
	if e == nil {
		return event.Destination{}, delivery.Gone
	}
	o, now := e.chosen(), r.cfg.Store.Now()
	if lane.Target == event.TargetWebhook {
		hook := e.webhook.Load()
		switch {
		case hook == nil && o.failed == nil:
			return event.Destination{}, delivery.Absent
		case hook == nil || o.failed != nil:
			return event.Destination{}, delivery.Paused
		case !hook.Enabled:
			return o.webhook(hook, now), delivery.Paused
		}
		return o.webhook(hook, now), delivery.Ready
	}
	p := o.endpoint(lane.Endpoint)
	switch {
	case p == nil && o.failed == nil:
		return event.Destination{}, delivery.Gone
	case p == nil:
		return event.Destination{}, delivery.Paused
	case !p.Enabled:
		return o.further(p, now), delivery.Paused
	}
	return o.further(p, now), delivery.Ready
}

func (r *Registry) resolveGlobal(flow delivery.Flow) (event.Destination, delivery.Status) {
	o := r.global.chosen()
	url := *r.globalURL.Load()
	switch {
	case url == "":
		return event.Destination{}, delivery.Absent
	case o.failed != nil:
		return event.Destination{}, delivery.Paused
	}
	d := o.to(event.TargetGlobal, url, &o.access, r.cfg.Store.Now())
	if flow == delivery.FlowBatch { // always in the outbox, regardless of options
		d.Durable, d.Order, d.MaxAge = true, event.OrderNone, 0
		d.WithID = len(d.Secrets) > 0
	}
	return d, delivery.Ready
}

// SetGlobalURL sets the global webhook from the next commit on; an empty url disables it.
// Pending durable events go to the new webhook, except those with credentials.
func (r *Registry) SetGlobalURL(url string) {
	r.globalURL.Store(&url)
	r.withholdGlobal(r.life)
	r.tellLanes(lanesOf(GlobalScope))
}

// destinations returns the destinations of an instance's event: its webhook and
// endpoints, each if enabled and if its event list and filter match, and the global
// webhook.
func (r *Registry) destinations(e *entry, kind event.Kind, about event.About) []event.Destination {
	return r.destinationsBy(e, kind, about, e.chosen(), r.global.chosen())
}

// destinationsBy is destinations with these options of the instance and of the global
// webhook.
func (r *Registry) destinationsBy(e *entry, kind event.Kind, about event.About, o, forAll *heldOptions) (to []event.Destination) {
	d, _ := event.Lookup(kind)
	now := r.cfg.Store.Now()
	if o.Filter.passes(kind, about) {
		if hook := e.webhook.Load(); hook.wants(d.Flag) {
			to = append(to, o.webhook(hook, now))
		}
		for i := range o.Endpoints {
			if p := &o.Endpoints[i]; p.Enabled && p.Events[d.Flag] {
				to = append(to, o.further(p, now))
			}
		}
	}
	if url := *r.globalURL.Load(); url != "" {
		to = append(to, forAll.to(event.TargetGlobal, url, &forAll.access, now))
	}
	return to
}

func (o *heldOptions) webhook(hook *keptWebhook, now time.Time) event.Destination {
	return o.to(event.TargetWebhook, hook.URL, &o.access, now)
}

func (o *heldOptions) further(p *keptEndpoint, now time.Time) event.Destination {
	d := o.to(event.TargetEndpoint, p.URL, &p.access, now)
	d.Endpoint = p.ID
	return d
}

// to returns a destination with these options and its own access.
func (o *heldOptions) to(target event.Target, url string, a *access, now time.Time) event.Destination {
	d := event.Destination{Target: target, URL: url, Headers: a.Headers, Secrets: a.inForce(now)}
	if o.Durable {
		d.Durable, d.Order, d.MaxAge = true, o.Order, o.maxAge
	}
	d.WithID = o.Durable || len(d.Secrets) > 0
	return d
}

// inForce returns the valid signing secrets, newest first. A former secret with an end
// later than possible was replaced under a clock that was ahead.
func (a *access) inForce(now time.Time) (all []string) {
	for i, s := range a.Secrets {
		if left := s.Until.Sub(now); i == 0 || left > 0 && left <= SecretOverlap+clockSkew {
			all = append(all, s.Text)
		}
	}
	return all
}

// Durable reports whether the events of an instance are durable, and their maximum age.
// Unknown instances have none.
func (r *Registry) Durable(id int64) (durable bool, maxAge time.Duration) {
	e := r.entry(id)
	if e == nil {
		return false, 0
	}
	o := e.chosen()
	return o.Durable, o.maxAge
}

// passes reports whether the filter lets an event through to the webhook and the
// endpoints.
func (f *Filter) passes(kind event.Kind, about event.About) bool {
	switch {
	case !f.FromMe && kind == event.MessagesUpsert && about.FromMe,
		!f.Newsletters && kind == event.NewsLetter,
		!f.Broadcasts && about.Broadcast:
		return false
	case about.Chat == event.StatusBroadcast:
		return f.Status
	}
	switch _, server, _ := strings.Cut(about.Chat, "@"); server {
	case event.GroupServer:
		return f.Groups
	case event.NewsletterServer:
		return f.Newsletters
	case event.BroadcastServer:
		return f.Broadcasts
	}
	return true
}
