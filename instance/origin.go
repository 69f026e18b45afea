package instance

import (
	"errors"
	"slices"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// source returns an instance as the source of events.
func (r *Registry) source(id int64) delivery.Source {
	if e := r.entry(id); e != nil {
		return r.events.Source(id, e)
	}
	return r.events.Source(id, absent{})
}

// absent is the origin of an instance that does not exist.
type absent struct{}

func (absent) Durable() bool                                            { return false }
func (absent) RoutesIn(*store.Tx) (delivery.Routes, error)              { return nil, ErrNotFound }
func (absent) SnapshotIn(*store.Tx) (s event.Snapshot, err error)       { return s, ErrNotFound }
func (absent) Snapshot() (s event.Snapshot, err error)                  { return s, ErrNotFound }
func (absent) Destinations(event.Kind, event.About) []event.Destination { return nil }

// Durable implements [delivery.Origin].
func (e *entry) Durable() bool {
	return e.wantsDurable() || *e.reg.globalURL.Load() != "" && e.reg.global.wantsDurable()
}

func (e *entry) wantsDurable() bool { return e.chosen().Durable || e.changing.Load() }

// RoutesIn implements [delivery.Origin].
func (e *entry) RoutesIn(tx *store.Tx) (delivery.Routes, error) {
	own, err := e.optionsIn(tx, e.id())
	if err != nil {
		return nil, err
	}
	global := plainOptions
	if *e.reg.globalURL.Load() != "" {
		if global, err = e.reg.global.optionsIn(tx, GlobalScope); err != nil {
			return nil, err
		}
	}
	return &routes{e, own, global}, nil
}

// optionsIn returns the options as of a commit: while they are being replaced, those in
// the file.
func (e *entry) optionsIn(tx *store.Tx, id int64) (*heldOptions, error) {
	if !e.changing.Load() {
		return e.chosen(), nil
	}
	kept, found, err := store.GetJSON[keptOptions](tx, optionsBucket, store.Key(id))
	switch {
	case errors.Is(err, store.ErrDamaged):
		return e.chosen(), nil
	case err != nil:
		return nil, err
	case !found:
		return plainOptions, nil
	}
	return hold(kept), nil
}

// SnapshotIn implements [delivery.Origin].
func (e *entry) SnapshotIn(tx *store.Tx) (event.Snapshot, error) {
	rec, found, err := store.GetJSON[Record](tx, instances, store.Key(e.id()))
	switch {
	case err != nil && !errors.Is(err, store.ErrDamaged):
		return event.Snapshot{}, err
	case err != nil:
		rec = *e.record.Load() // damaged: use the cached record
	case !found:
		return event.Snapshot{}, ErrNotFound // deleted in the meantime
	}
	return rec.Snapshot(), nil
}

// Snapshot implements [delivery.Origin].
func (e *entry) Snapshot() (event.Snapshot, error) {
	if e.reg.entry(e.id()) != e {
		return event.Snapshot{}, ErrNotFound
	}
	return e.record.Load().Snapshot(), nil
}

// Destinations implements [delivery.Origin]. It leaves out destinations with unreadable
// options: nothing is delivered in another way than requested.
func (e *entry) Destinations(kind event.Kind, about event.About) []event.Destination {
	to := e.reg.destinations(e, kind, about)
	own, global := e.chosen().failed != nil, e.reg.global.chosen().failed != nil
	if !own && !global {
		return to
	}
	return slices.DeleteFunc(to, func(d event.Destination) bool {
		return own && d.Target != event.TargetGlobal || global && d.Target == event.TargetGlobal
	})
}

func (e *entry) id() int64 { return e.record.Load().ID }

// routes are the routes of an instance's events by the options of a commit.
type routes struct {
	e           *entry
	own, global *heldOptions
}

// Durable implements [delivery.Routes].
func (r *routes) Durable() bool { return r.own.Durable || r.global.Durable }

// Own implements [delivery.Routes].
func (r *routes) Own() (durable bool, maxAge time.Duration) { return r.own.Durable, r.own.maxAge }

// To implements [delivery.Routes].
func (r *routes) To(kind event.Kind, about event.About) []event.Destination {
	return r.e.reg.destinationsBy(r.e, kind, about, r.own, r.global)
}
