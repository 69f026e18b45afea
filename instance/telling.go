package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// eventWriter writes the events of one commit. Events are added where their cause is stored.
// Durable events are written in that commit, with its time and the record of the instance
// as it leaves it; the others are built after the commit. Nothing is published before
// publish.
type eventWriter struct {
	reg      *Registry
	id       int64
	e        *entry // nil: there is no such instance
	inMemory bool   // the disk is nearly full: deliver from memory
	pending  []pendingEvent
	one      [1]pendingEvent // most commits have one event

	// State of the current run of the closure.
	own, global *heldOptions
}

// pendingEvent is one event of a commit.
type pendingEvent struct {
	kind      event.Kind
	data      any
	about     event.About
	requestID string

	id      uuid.UUID
	earlier bool         // stored by an earlier commit
	written bool         // stored by this commit
	notice  event.Notice // of a stored event
	err     error        // why it could not be built
}

// newEventWriter returns a writer for the events of a commit about an instance.
func (r *Registry) newEventWriter(id int64) *eventWriter {
	t := &eventWriter{reg: r, id: id, e: r.entry(id)}
	t.pending = t.one[:0]
	return t
}

// about returns the people and chat of a payload, by both addresses where known.
func (r *Registry) about(data any) event.About { return event.AboutOf(data).With(r.cfg.Twin) }

// add adds an event. The result is valid until the next call.
func (t *eventWriter) add(kind event.Kind, data any, about event.About, requestID string) *pendingEvent {
	t.pending = append(t.pending, pendingEvent{kind: kind, data: data, about: about, requestID: requestID})
	return &t.pending[len(t.pending)-1]
}

// under sets the event's id: former if an earlier commit stored the event under that id,
// else fresh.
func (n *pendingEvent) under(fresh, former uuid.UUID) {
	if n.id = fresh; former != uuid.Nil {
		n.id, n.earlier = former, true
	}
}

// durable reports whether events of the instance may be durable.
func (t *eventWriter) durable() bool {
	if t.inMemory || t.e == nil || t.reg.cfg.Ledger == nil {
		return false
	}
	return t.e.wantsDurable() || *t.reg.globalURL.Load() != "" && t.reg.global.wantsDurable()
}

func (e *entry) wantsDurable() bool { return e.chosen().Durable || e.changing.Load() }

// begin must be the first call of a closure: it discards the events of an earlier run and
// determines the options of this commit.
func (t *eventWriter) begin(tx *store.Tx) (err error) {
	t.pending, t.own, t.global = t.pending[:0], plainOptions, plainOptions
	if !t.durable() {
		return nil
	}
	if t.reg.cfg.Store.Admit() != nil {
		t.inMemory = true
		return nil
	}
	if t.own, err = optionsIn(tx, t.e, t.id); err == nil && *t.reg.globalURL.Load() != "" {
		t.global, err = optionsIn(tx, t.reg.global, GlobalScope)
	}
	return err
}

// optionsIn returns the options as of a commit: while they are being replaced, those in
// the file.
func optionsIn(tx *store.Tx, e *entry, id int64) (*heldOptions, error) {
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

// stores reports whether this commit stores its events.
func (t *eventWriter) stores() bool { return t.own.Durable || t.global.Durable }

// write must be the last call of a closure: it writes durable events. rec is the
// instance's record as the commit leaves it, nil if unchanged.
func (t *eventWriter) write(tx *store.Tx, rec *Record) error {
	if len(t.pending) == 0 || !t.stores() {
		return nil
	}
	if rec == nil {
		stored, found, err := store.GetJSON[Record](tx, instances, store.Key(t.id))
		switch {
		case err != nil && !errors.Is(err, store.ErrDamaged):
			return err
		case err != nil:
			stored = *t.e.record.Load() // damaged: use the cached record
		case !found:
			return ErrNotFound // deleted in the meantime
		}
		rec = &stored
	}
	for i := range t.pending {
		if err := t.writeOne(tx, &t.pending[i], rec); err != nil {
			return fmt.Errorf("write %s: %w", t.pending[i].kind, err)
		}
	}
	return nil
}

func (t *eventWriter) writeOne(tx *store.Tx, n *pendingEvent, rec *Record) error {
	body, err := event.MarshalInstance(n.kind, rec.Snapshot(), n.data, tx.Now())
	if err != nil {
		n.err = err // does not undo the commit
		return nil
	}
	if n.id == uuid.Nil {
		n.id = newEventID()
	}
	durable, rest := split(t.reg.destinationsBy(t.e, n.kind, n.about, t.own, t.global))
	e := delivery.Event{
		ID: n.id, Kind: n.kind, Instance: t.id, Name: rec.Name, OwnerJID: rec.OwnerJID,
		RequestID: n.requestID, About: n.about, Body: body,
	}
	if t.own.Durable {
		e.ExpiresAt = tx.Steady().Add(t.own.maxAge)
	}
	if !n.earlier {
		if e, err = t.reg.cfg.Ledger.Emit(tx, e, t.own.Durable, durable); err != nil {
			return err
		}
	}
	n.written = true
	n.notice = event.Notice{
		Kind: n.kind, Body: body, InstanceID: t.id, InstanceName: rec.Name, OwnerJID: rec.OwnerJID, RequestID: n.requestID,
		ID: n.id, About: n.about, To: rest, Sequence: e.Sequence, Stored: t.own.Durable,
	}
	return nil
}

// split separates durable from other destinations.
func split(to []event.Destination) (durable, rest []event.Destination) {
	for _, d := range to {
		if d.Durable {
			durable = append(durable, d)
		} else {
			rest = append(rest, d)
		}
	}
	return durable, rest
}

// newEventID returns a new event id, shared by all deliveries of the event.
func newEventID() uuid.UUID {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.New() // unreachable: the system has random numbers
	}
	return id
}

// commit runs fn and stores the events that it adds in the same commit. fn may run twice.
// If the disk has no room for both, the events are delivered from memory.
func (t *eventWriter) commit(ctx context.Context, fn func(tx *store.Tx) error) error {
	return t.commitBy(func(closure func(*store.Tx) error) error { return t.reg.cfg.Store.Update(ctx, closure) }, fn)
}

// maxRide is how long a commit that no caller waits for may wait for another commit.
const maxRide = 50 * time.Millisecond

// commitAlong is commit for changes that no caller waits for: it joins the next commit,
// or makes its own after maxRide.
func (t *eventWriter) commitAlong(fn func(tx *store.Tx) error) error {
	return t.commitBy(func(closure func(*store.Tx) error) error {
		s := t.reg.cfg.Store
		attached, err := s.Attach(closure)
		if err != nil {
			return err
		}
		defer time.AfterFunc(maxRide, func() { s.Hurry(attached) }).Stop()
		return attached.Wait()
	}, fn)
}

// commitBy is commit with a given way to run the closure.
func (t *eventWriter) commitBy(update func(func(*store.Tx) error) error, fn func(tx *store.Tx) error) error {
	closure := func(tx *store.Tx) error {
		if err := t.begin(tx); err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		return t.write(tx, nil)
	}
	err := update(closure)
	if t.outgrew(err) {
		err = update(closure)
	}
	return err
}

// outgrew reports whether a failed commit may succeed without its events, and switches
// them to delivery from memory.
func (t *eventWriter) outgrew(err error) bool {
	if !errors.Is(err, store.ErrDiskFull) || t.inMemory {
		return false
	}
	t.inMemory = slices.ContainsFunc(t.pending, func(n pendingEvent) bool { return n.written && !n.earlier })
	return t.inMemory
}

// publish publishes the events after the commit: stored ones to receivers outside the
// file, the others from memory. It returns the error of the first event that could not be
// built or stored.
func (t *eventWriter) publish(ctx context.Context) (err error) {
	for i := range t.pending {
		if failed := t.publishOne(ctx, &t.pending[i]); failed != nil && err == nil {
			err = fmt.Errorf("publish %s: %w", t.pending[i].kind, failed)
		}
	}
	return err
}

func (t *eventWriter) publishOne(ctx context.Context, n *pendingEvent) error {
	if !n.written && n.err == nil && t.durable() {
		if err := t.store(ctx, n); err != nil {
			return err
		}
	}
	switch {
	case n.err != nil:
		return n.err
	case !n.written:
		return t.publishNow(n)
	case len(n.notice.To) > 0 || !n.notice.Stored:
		t.reg.cfg.Publish(n.notice)
	}
	return nil
}

// store gives an event a commit of its own: its cause is not stored, or was stored before
// the event became durable.
func (t *eventWriter) store(ctx context.Context, n *pendingEvent) error {
	if t.reg.cfg.Store.Admit() != nil {
		t.inMemory = true
		return nil
	}
	alone := &eventWriter{reg: t.reg, id: t.id, e: t.e}
	err := t.reg.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if err := alone.begin(tx); err != nil {
			return err
		}
		alone.pending = append(alone.pending, *n)
		return alone.write(tx, nil)
	})
	if alone.outgrew(err) {
		err = nil
	}
	if t.inMemory = alone.inMemory; err == nil && !t.inMemory {
		*n = alone.pending[0]
	}
	return err
}

// publishNow delivers from memory, to the current destinations. Without any, WebSocket
// clients still receive the notice.
func (t *eventWriter) publishNow(n *pendingEvent) error {
	if t.e == nil || t.reg.entry(t.id) != t.e {
		return ErrNotFound
	}
	if t.inMemory {
		t.reg.scarcity.tell(t.reg.log, t.id, n.kind)
	}
	to := t.reg.readable(t.e, t.reg.destinations(t.e, n.kind, n.about))
	if len(to) == 0 && t.reg.cfg.Watched != nil && !t.reg.cfg.Watched(t.id) {
		return nil
	}
	rec := t.e.record.Load()
	body, err := event.MarshalInstance(n.kind, rec.Snapshot(), n.data, time.Now())
	if err != nil {
		return err
	}
	if n.id == uuid.Nil {
		n.id = newEventID()
	}
	t.reg.cfg.Publish(event.Notice{
		Kind: n.kind, Body: body, InstanceID: t.id, InstanceName: rec.Name, OwnerJID: rec.OwnerJID, RequestID: n.requestID,
		ID: n.id, About: n.about, To: to,
	})
	return nil
}

// readable drops destinations with unreadable options: nothing is delivered in another
// way than requested.
func (r *Registry) readable(e *entry, to []event.Destination) []event.Destination {
	own, global := e.chosen().failed != nil, r.global.chosen().failed != nil
	if !own && !global {
		return to
	}
	return slices.DeleteFunc(to, func(d event.Destination) bool {
		return own && d.Target != event.TargetGlobal || global && d.Target == event.TargetGlobal
	})
}
