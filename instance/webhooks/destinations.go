package webhooks

import (
	"errors"
	"slices"
	"strings"
	"time"

	"postern/delivery"
	"postern/delivery/publish"
	"postern/event"
	"postern/store"
)

// Resolve returns the current destination of a lane and its status. The destination is
// empty if there is none or its options are unreadable. An endpoint that a change adds is
// paused until the change is in force: the file may have deliveries for it already.
func (d *Directory) Resolve(lane delivery.Lane) (event.Destination, delivery.Status) {
	if lane.Target == event.TargetGlobal {
		return d.resolveGlobal(lane.Flow)
	}
	s := d.scope(lane.Instance)
	if s == nil || s == d.global {
		return event.Destination{}, delivery.Gone
	}
	next := s.changing.Load() // before the options that it replaces
	o, now := s.chosen(), d.cfg.Store.Now()
	if lane.Target == event.TargetWebhook {
		hook := s.webhook.Load()
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
	case p == nil && o.failed == nil && (next == nil || next.endpoint(lane.Endpoint) == nil):
		return event.Destination{}, delivery.Gone
	case p == nil:
		return event.Destination{}, delivery.Paused
	case !p.Enabled:
		return o.further(p, now), delivery.Paused
	}
	return o.further(p, now), delivery.Ready
}

func (d *Directory) resolveGlobal(flow delivery.Flow) (event.Destination, delivery.Status) {
	o := d.global.chosen()
	url := *d.globalURL.Load()
	switch {
	case url == "":
		return event.Destination{}, delivery.Absent
	case o.failed != nil:
		return event.Destination{}, delivery.Paused
	}
	to := o.to(event.TargetGlobal, url, &o.access, d.cfg.Store.Now())
	if flow == delivery.FlowBatch { // always in the outbox, regardless of options
		to.Durable, to.Order, to.MaxAge = true, event.OrderNone, 0
		to.WithID = len(to.Secrets) > 0
	}
	return to, delivery.Ready
}

// Destinations returns where an event of the instance goes now: to its webhook and
// endpoints, each if enabled and if its event list and filter match, and to the global
// webhook. It leaves out destinations with unreadable options: nothing is delivered in
// another way than requested.
func (s *Scope) Destinations(kind event.Kind, about event.About) []event.Destination {
	o, global := s.chosen(), s.d.global.chosen()
	to := s.destinations(kind, about, o, global)
	if o.failed == nil && global.failed == nil {
		return to
	}
	return slices.DeleteFunc(to, func(d event.Destination) bool {
		return o.failed != nil && d.Target != event.TargetGlobal || global.failed != nil && d.Target == event.TargetGlobal
	})
}

// destinations is Destinations by these options of the instance and of the global
// webhook, readable or not.
func (s *Scope) destinations(kind event.Kind, about event.About, o, forAll *heldOptions) (to []event.Destination) {
	d, _ := event.Lookup(kind)
	now := s.d.cfg.Store.Now()
	if o.Filter.passes(kind, about) {
		if hook := s.webhook.Load(); hook.wants(d.Flag) {
			to = append(to, o.webhook(hook, now))
		}
		for i := range o.Endpoints {
			if p := &o.Endpoints[i]; p.Enabled && p.Events[d.Flag] {
				to = append(to, o.further(p, now))
			}
		}
	}
	if url := *s.d.globalURL.Load(); url != "" {
		to = append(to, forAll.to(event.TargetGlobal, url, &forAll.access, now))
	}
	return to
}

// RoutesIn returns the routes of the instance's events as of a commit: see
// [publish.Origin].
func (s *Scope) RoutesIn(tx *store.Tx) (publish.Routes, error) {
	own, err := s.optionsIn(tx)
	if err != nil {
		return nil, err
	}
	global, err := s.d.global.optionsIn(tx)
	if err != nil {
		return nil, err
	}
	return &routes{s, own, global}, nil
}

// optionsIn returns the options as of a commit: while they are being replaced, those in
// the file.
func (s *Scope) optionsIn(tx *store.Tx) (*heldOptions, error) {
	if s.changing.Load() == nil {
		return s.chosen(), nil
	}
	kept, found, err := store.GetJSON[keptOptions](tx, optionsBucket, store.Key(s.id))
	switch {
	case errors.Is(err, store.ErrDamaged):
		return s.chosen(), nil
	case err != nil:
		return nil, err
	case !found:
		return plainOptions, nil
	}
	return hold(kept), nil
}

// routes are the routes of an instance's events by the options of a commit.
type routes struct {
	s           *Scope
	own, global *heldOptions
}

// Durable implements [publish.Routes].
func (r *routes) Durable() bool { return r.own.Durable || r.global.Durable }

// Own implements [publish.Routes].
func (r *routes) Own() (durable bool, maxAge time.Duration) { return r.own.Durable, r.own.maxAge }

// Global implements [publish.Routes].
func (r *routes) Global() (durable bool, maxAge time.Duration) {
	return r.global.Durable, r.global.maxAge
}

// MediaLinks implements [publish.Routes].
func (r *routes) MediaLinks() (own, global bool) { return r.own.links(), r.global.links() }

// MediaLinks implements [publish.Origin].
func (s *Scope) MediaLinks() (own, global bool) {
	return s.chosen().links(), s.d.global.chosen().links()
}

func (o *heldOptions) links() bool { return o.Media == event.MediaAsLink }

// To implements [publish.Routes].
func (r *routes) To(kind event.Kind, about event.About) []event.Destination {
	return r.s.destinations(kind, about, r.own, r.global)
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

// clockSkew is the assumed maximum error of our clock when a secret was replaced.
const clockSkew = time.Minute

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

// Place is a configured destination.
type Place struct {
	Lane    delivery.Lane
	URL     string
	Enabled bool
	Durable bool          // its events are stored
	MaxAge  time.Duration // of its durable events
}

// Places calls fn with all destinations of an instance: the webhook and the endpoints; with Global, with the global
// webhook.
func (d *Directory) Places(id int64, fn func(Place)) {
	s := d.scope(id)
	if s == nil {
		return
	}
	o := s.chosen()
	if id == Global {
		if url := *d.globalURL.Load(); url != "" {
			fn(Place{delivery.GlobalLane, url, true, o.Durable, o.maxAge})
		}
		return
	}
	if hook := s.webhook.Load(); hook != nil {
		fn(Place{delivery.Lane{Flow: delivery.FlowInstance, Instance: id, Target: event.TargetWebhook}, hook.URL, hook.Enabled, o.Durable, o.maxAge})
	}
	for i := range o.Endpoints {
		p := &o.Endpoints[i]
		fn(Place{delivery.Lane{Flow: delivery.FlowInstance, Instance: id, Target: event.TargetEndpoint, Endpoint: p.ID}, p.URL, p.Enabled, o.Durable, o.maxAge})
	}
}

// Durable reports whether the events of an instance are durable, and their maximum age.
// Unknown instances have none.
func (d *Directory) Durable(id int64) (durable bool, maxAge time.Duration) {
	s := d.scope(id)
	if s == nil || s == d.global {
		return false, 0
	}
	o := s.chosen()
	return o.Durable, o.maxAge
}

// DurableForAll reports whether the events of all instances are stored, for the global webhook and for consumers.
func (d *Directory) DurableForAll() bool { return d.global.chosen().Durable }

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
