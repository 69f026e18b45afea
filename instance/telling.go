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

// telling is what one commit tells of. Events are added where their cause is
// stored. Where something wants them durable they are written there and then,
// with the commit's own time and the record of the instance as that commit leaves
// it; the others are made after the commit. Nothing leaves before publish.
type telling struct {
	reg  *Registry
	id   int64
	e    *entry // nil: there is no such instance
	old  bool   // there is no room on the disk: the old way
	news []news
	one  [1]news // most commits tell of one event

	// Of the run of the closure that is under way.
	own, global *heldOptions
}

// news is one event on its way out.
type news struct {
	kind      event.Kind
	data      any
	about     event.About
	requestID string

	id      uuid.UUID
	told    bool         // an earlier commit has it in the file
	written bool         // it is in the file
	notice  event.Notice // of a written one
	err     error        // why it cannot be made
}

// telling begins what a commit about an instance is to tell.
func (r *Registry) telling(id int64) *telling {
	t := &telling{reg: r, id: id, e: r.entry(id)}
	t.news = t.one[:0]
	return t
}

// about is whom a payload concerns, by both addresses where they are known.
func (r *Registry) about(data any) event.About { return event.AboutOf(data).With(r.cfg.Twin) }

// add has an event told, once the commit is on the disk. What it returns is good
// until the next one.
func (t *telling) add(kind event.Kind, data any, about event.About, requestID string) *news {
	t.news = append(t.news, news{kind: kind, data: data, about: about, requestID: requestID})
	return &t.news[len(t.news)-1]
}

// under gives an event its id: told, when an earlier commit has it in the file
// under that, else fresh.
func (n *news) under(fresh, told uuid.UUID) {
	if n.id = fresh; told != uuid.Nil {
		n.id, n.told = told, true
	}
}

// durable tells whether something may want events of the instance in the file.
func (t *telling) durable() bool {
	if t.old || t.e == nil || t.reg.cfg.Ledger == nil {
		return false
	}
	return t.e.wantsDurable() || *t.reg.globalURL.Load() != "" && t.reg.global.wantsDurable()
}

func (e *entry) wantsDurable() bool { return e.chosen().Durable || e.changing.Load() }

// begin is the first thing of a closure: it forgets what an earlier run added, and
// finds out what counts in this commit.
func (t *telling) begin(tx *store.Tx) (err error) {
	t.news, t.own, t.global = t.news[:0], plainOptions, plainOptions
	if !t.durable() {
		return nil
	}
	if t.reg.cfg.Store.Admit() != nil {
		t.old = true
		return nil
	}
	if t.own, err = optionsIn(tx, t.e, t.id); err == nil && *t.reg.globalURL.Load() != "" {
		t.global, err = optionsIn(tx, t.reg.global, GlobalScope)
	}
	return err
}

// optionsIn are the options as a commit finds them: while they are being replaced,
// the file has what counts.
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

// stores tells whether this commit has its events in the file.
func (t *telling) stores() bool { return t.own.Durable || t.global.Durable }

// write is the last thing of a closure: it writes the events, when they are
// durable. rec is the instance's record as the commit leaves it, nil when the
// commit does not change it.
func (t *telling) write(tx *store.Tx, rec *Record) error {
	if len(t.news) == 0 || !t.stores() {
		return nil
	}
	if rec == nil {
		stored, found, err := store.GetJSON[Record](tx, instances, store.Key(t.id))
		switch {
		case err != nil && !errors.Is(err, store.ErrDamaged):
			return err
		case err != nil:
			stored = *t.e.record.Load() // damaged: known from memory
		case !found:
			return ErrNotFound // deleted meanwhile
		}
		rec = &stored
	}
	for i := range t.news {
		if err := t.writeOne(tx, &t.news[i], rec); err != nil {
			return fmt.Errorf("write %s: %w", t.news[i].kind, err)
		}
	}
	return nil
}

func (t *telling) writeOne(tx *store.Tx, n *news, rec *Record) error {
	body, err := event.MarshalInstance(n.kind, rec.Snapshot(), n.data, tx.Now())
	if err != nil {
		n.err = err // no reason to undo what is stored
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
	if !n.told {
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

// split parts destinations by whether they are durable.
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

// newEventID returns a new id of an event, by which all its deliveries are known.
func newEventID() uuid.UUID {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.New() // never: the system has random numbers
	}
	return id
}

// commit stores what fn does together with the events that it adds. fn may run
// twice. When the disk has no room for both, the events go the old way.
func (t *telling) commit(ctx context.Context, fn func(tx *store.Tx) error) error {
	return t.commitBy(func(closure func(*store.Tx) error) error { return t.reg.cfg.Store.Update(ctx, closure) }, fn)
}

// maxRide is how long what nobody waits for looks for a commit to go with.
const maxRide = 50 * time.Millisecond

// commitAlong is commit for what nobody waits for: it goes with the next commit of
// anybody, or gets one when there is none for maxRide.
func (t *telling) commitAlong(fn func(tx *store.Tx) error) error {
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

// commitBy is commit by one of the ways to have a closure run.
func (t *telling) commitBy(update func(func(*store.Tx) error) error, fn func(tx *store.Tx) error) error {
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

// outgrew tells whether a commit failed that may succeed without its events, and
// has them go the old way.
func (t *telling) outgrew(err error) bool {
	if !errors.Is(err, store.ErrDiskFull) || t.old {
		return false
	}
	t.old = slices.ContainsFunc(t.news, func(n news) bool { return n.written && !n.told })
	return t.old
}

// publish tells the events, after the commit: those that are in the file to whom
// they do not reach from there, the others the old way. An error is that of
// the first event that could not be made, or not be stored.
func (t *telling) publish(ctx context.Context) (err error) {
	for i := range t.news {
		if failed := t.publishOne(ctx, &t.news[i]); failed != nil && err == nil {
			err = fmt.Errorf("publish %s: %w", t.news[i].kind, failed)
		}
	}
	return err
}

func (t *telling) publishOne(ctx context.Context, n *news) error {
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

// store gives an event a commit of its own: its cause stores nothing, or was
// stored before anything wanted the event durable.
func (t *telling) store(ctx context.Context, n *news) error {
	if t.reg.cfg.Store.Admit() != nil {
		t.old = true
		return nil
	}
	alone := &telling{reg: t.reg, id: t.id, e: t.e}
	err := t.reg.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if err := alone.begin(tx); err != nil {
			return err
		}
		alone.news = append(alone.news, *n)
		return alone.write(tx, nil)
	})
	if alone.outgrew(err) {
		err = nil
	}
	if t.old = alone.old; err == nil && !t.old {
		*n = alone.news[0]
	}
	return err
}

// publishNow is the old way: through memory, to the destinations as they are now.
// With none the notice still goes to WebSocket clients.
func (t *telling) publishNow(n *news) error {
	if t.e == nil || t.reg.entry(t.id) != t.e {
		return ErrNotFound
	}
	if t.old {
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

// readable leaves out the destinations whose options cannot be read: from memory
// nothing goes out otherwise than was asked.
func (r *Registry) readable(e *entry, to []event.Destination) []event.Destination {
	own, global := e.chosen().failed != nil, r.global.chosen().failed != nil
	if !own && !global {
		return to
	}
	return slices.DeleteFunc(to, func(d event.Destination) bool {
		return own && d.Target != event.TargetGlobal || global && d.Target == event.TargetGlobal
	})
}
