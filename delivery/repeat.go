package delivery

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// Resolved is the current configuration of a destination.
type Resolved struct {
	event.Destination
	Status Status
}

// Repeat makes the delivery of a replay that repeats a record, to the current configuration of
// its destination: a record that is pending or, if the destination was removed, cancelled. ok
// is false if the record or its body is gone, or if to lacks its destination. due is set if the
// delivery is pending and may be sent at once.
func (l *Ledger) Repeat(tx *store.Tx, replay, id uint64, to map[Lane]Resolved) (r Record, due *Due, ok bool, err error) {
	o, found, err := Find(tx, id)
	if errors.Is(err, store.ErrDamaged) || err == nil && (!found || !KeepsBody(tx, o)) {
		return r, nil, false, nil
	}
	now, known := to[o.Lane]
	if err != nil || !known || now.Status != Gone && !o.MadeFor(now.Destination) {
		return r, nil, false, err
	}
	r = Record{
		ID: l.NextID(), EventID: o.EventID, Event: o.Event, Lane: o.Lane.again(), Instance: o.Instance, Name: o.Name, Batch: o.Batch,
		Chat: o.Chat, ChatLID: o.ChatLID, URL: o.URL, RequestID: uuid.NewString(), State: Pending, Bytes: o.Bytes,
		Once: !now.Durable && o.Lane.Flow != FlowBatch, CreatedAt: tx.Now(), ExpiresAt: now.until(tx.Steady()), ReplayOf: o.ID, Replay: replay, EventSeq: o.EventSeq, OutboxSeq: o.OutboxSeq, Access: o.Access,
	}
	if now.URL != "" {
		r.URL = ShownURL(now.URL)
	}
	if o.OwnBody {
		owner, body, found, err := ownBody(tx, o.ID)
		if err != nil || !found {
			return r, nil, false, IgnoreDamage(err)
		}
		r.OwnBody = true
		if err := putOwn(tx, r.ID, owner, body); err != nil {
			return r, nil, false, err
		}
	}
	if now.Status == Gone {
		r.State, r.LastError = Cancelled, ReasonRemoved
		return r, nil, true, l.putRecord(tx, r, nil)
	}
	if now.Durable {
		if r.Line, err = lineFor(tx, r, now.Order); err != nil {
			return r, nil, false, err
		}
	}
	head, err := l.addPending(tx, r, nil)
	if head {
		due = &Due{At: r.DueAt(), Record: r.ID, Line: r.Line, Once: r.Once}
	}
	return r, due, true, err
}

// until returns when the repetition of a delivery expires: for a durable destination as for a
// new delivery, otherwise it limits the wait for its one attempt.
func (d Resolved) until(made time.Time) time.Time {
	if d.Durable && d.MaxAge > 0 {
		return made.Add(d.MaxAge)
	}
	return made.Add(DefaultMaxAge)
}

// MarkReplayed marks a record of which a repetition was delivered.
func (l *Ledger) MarkReplayed(tx *store.Tx, id uint64) error {
	old, found, err := Find(tx, id)
	if err != nil || !found || old.Replayed {
		return IgnoreDamage(err)
	}
	now := old
	now.Replayed = true
	return l.putRecord(tx, now, &old)
}

// here reports whether a destination exists, enabled or not.
func (l *Ledger) here(lane Lane) (to event.Destination, here bool) {
	to, status := l.cfg.Resolve(lane)
	return to, status == Paused || status == Ready
}

// Destinations caches the destinations of lanes during one list or selection.
type Destinations struct {
	l     *Ledger
	known map[Lane]whereabouts
}

type whereabouts struct {
	to   event.Destination
	here bool
}

// Destinations returns an empty cache.
func (l *Ledger) Destinations() Destinations { return Destinations{l, map[Lane]whereabouts{}} }

// Replayable reports whether a record can be sent again: its body is kept, and its destination
// exists; for a credential it must be unchanged.
func (d Destinations) Replayable(tx *store.Tx, r Record) bool {
	now, known := d.known[r.Lane]
	if !known {
		now.to, now.here = d.l.here(r.Lane)
		d.known[r.Lane] = now
	}
	return now.here && r.MadeFor(now.to) && KeepsBody(tx, r)
}
