package instance

import (
	"errors"

	"postern/delivery/publish"
	"postern/event"
	"postern/store"
)

// source returns an instance as the source of events. The scope of its webhooks answers
// where they go, the entry what it looks like in them.
func (r *Registry) source(id int64) publish.Source {
	if e := r.entry(id); e != nil {
		return r.events.Source(id, e)
	}
	return r.events.Source(id, absent{})
}

// absent is the origin of an instance that does not exist.
type absent struct{}

func (absent) Durable() bool                                            { return false }
func (absent) RoutesIn(*store.Tx) (publish.Routes, error)               { return nil, ErrNotFound }
func (absent) SnapshotIn(*store.Tx) (s event.Snapshot, err error)       { return s, ErrNotFound }
func (absent) MediaLinks() (own, global bool)                           { return false, false }
func (absent) Snapshot() (s event.Snapshot, err error)                  { return s, ErrNotFound }
func (absent) Destinations(event.Kind, event.About) []event.Destination { return nil }

// SnapshotIn implements [publish.Origin].
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

// Snapshot implements [publish.Origin].
func (e *entry) Snapshot() (event.Snapshot, error) {
	if e.reg.entry(e.id()) != e {
		return event.Snapshot{}, ErrNotFound
	}
	return e.record.Load().Snapshot(), nil
}

func (e *entry) id() int64 { return e.record.Load().ID }
