package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/stream"
	"postern/event"
	"postern/store"
)

// Writer writes the events of one commit about an instance. Events are added where their
// cause is stored. Durable events are written in that commit, with its time and the
// instance as it leaves it; the others are built after the commit. Nothing is published
// before Publish. A Writer is not safe for concurrent use.
type Writer struct {
	src      Source
	inMemory bool // the disk is nearly full: deliver from memory
	pending  []PendingEvent
	one      [1]PendingEvent // most commits have one event

	routes Routes // of the current run of the closure; nil: no event is durable
}

// PendingEvent is one event of a commit.
type PendingEvent struct {
	kind      event.Kind
	data      any
	about     event.About
	requestID string

	id      uuid.UUID
	earlier bool         // stored by an earlier commit
	written bool         // stored by this commit
	noted   bool         // this commit notes that it is not stored
	notice  event.Notice // of a stored event
	err     error        // why it could not be built
}

// Add adds an event. The result is valid until the next call.
func (w *Writer) Add(kind event.Kind, data any, about event.About, requestID string) *PendingEvent {
	w.pending = append(w.pending, PendingEvent{kind: kind, data: data, about: about, requestID: requestID})
	return &w.pending[len(w.pending)-1]
}

// Under sets the event's id: former if an earlier commit stored the event under that id,
// else fresh.
func (n *PendingEvent) Under(fresh, former uuid.UUID) {
	if n.id = fresh; former != uuid.Nil {
		n.id, n.earlier = former, true
	}
}

// MayStore reports whether events of the instance may be durable.
func (w *Writer) MayStore() bool {
	return !w.inMemory && w.src.publisher.cfg.Ledger != nil && w.src.origin.Durable()
}

// begin must be the first call of a closure: it discards the events of an earlier run and
// determines the routes of this commit.
func (w *Writer) begin(tx *store.Tx) (err error) {
	w.pending, w.routes = w.pending[:0], nil
	if !w.MayStore() {
		return nil
	}
	if w.src.publisher.cfg.Store.Admit() != nil {
		w.inMemory = true
		return nil
	}
	w.routes, err = w.src.origin.RoutesIn(tx)
	return err
}

// Stores reports whether the current commit stores its events. It may be called in the
// closure of the commit and after it.
func (w *Writer) Stores() bool { return w.routes != nil && w.routes.Durable() }

// write must be the last call of a closure: it writes durable events.
func (w *Writer) write(tx *store.Tx) error {
	if w.inMemory {
		w.noteLost(tx)
	}
	if len(w.pending) == 0 || !w.Stores() {
		return nil
	}
	from, err := w.src.origin.SnapshotIn(tx)
	if err != nil {
		return err
	}
	for i := range w.pending {
		if err := w.writeOne(tx, &w.pending[i], from); err != nil {
			return fmt.Errorf("write %s: %w", w.pending[i].kind, err)
		}
	}
	return nil
}

// noteLost notes that the events of this commit are delivered from memory. A failure does not undo the commit.
func (w *Writer) noteLost(tx *store.Tx) {
	n := 0
	for _, p := range w.pending {
		if !p.earlier {
			n++
		}
	}
	if n == 0 || w.src.publisher.cfg.NoteLost == nil {
		return
	}
	routes, err := w.src.origin.RoutesIn(tx)
	if err != nil {
		return
	}
	own, _ := routes.Own()
	all, _ := routes.Global()
	noted := w.src.publisher.cfg.NoteLost(tx, w.src.ID, n, own, all) == nil
	for i := range w.pending {
		w.pending[i].noted = noted
	}
}

func (w *Writer) writeOne(tx *store.Tx, n *PendingEvent, from event.Snapshot) error {
	own, global := w.routes.MediaLinks()
	body, forGlobal, err := w.bodies(tx, n, from, tx.Now(), own, global)
	if err != nil {
		n.err = err // does not undo the commit
		return nil
	}
	if n.id == uuid.Nil {
		n.id = NewEventID()
	}
	durable, rest := split(withBody(w.routes.To(n.kind, n.about), forGlobal))
	numbered, maxAge := w.routes.Own()
	e := delivery.Event{
		ID: n.id, Kind: n.kind, Instance: w.src.ID, Name: from.Name, OwnerJID: ownerOf(from),
		RequestID: n.requestID, About: n.about, Body: body,
	}
	if numbered {
		e.ExpiresAt = tx.Steady().Add(maxAge)
	}
	if !n.earlier {
		if e, err = w.src.publisher.cfg.Ledger.Emit(tx, e, numbered, durable); err != nil {
			return err
		}
	}
	if err := w.linked(tx, n, e.Seq); err != nil {
		return err
	}
	if inFeed, age := w.routes.Global(); inFeed && !n.earlier {
		row := stream.Row{ID: n.id, Kind: n.kind, Instance: w.src.ID, CreatedAt: tx.Now(), ExpiresAt: tx.Steady().Add(age), Body: body}
		if forGlobal != nil {
			row.Body = forGlobal
		}
		if err := stream.Add(tx, row); err != nil {
			return err
		}
	}
	n.written = true
	n.notice = w.notice(n, from, body, rest)
	n.notice.Sequence, n.notice.Stored = e.Sequence, numbered
	return nil
}

func (w *Writer) notice(n *PendingEvent, from event.Snapshot, body []byte, to []event.Destination) event.Notice {
	return event.Notice{
		Kind: n.kind, Body: body, InstanceID: w.src.ID, InstanceName: from.Name, OwnerJID: ownerOf(from), RequestID: n.requestID,
		ID: n.id, About: n.about, To: to,
	}
}

func ownerOf(from event.Snapshot) string {
	if from.OwnerJID == nil {
		return ""
	}
	return *from.OwnerJID
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

// NewEventID returns a new event id, shared by all deliveries of the event.
func NewEventID() uuid.UUID {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.New() // unreachable: the system has random numbers
	}
	return id
}

// Commit runs fn and stores the events that it adds in the same commit. fn may run twice.
// If the disk has no room for both, the events are delivered from memory.
func (w *Writer) Commit(ctx context.Context, fn func(tx *store.Tx) error) error {
	return w.commitBy(func(closure func(*store.Tx) error) error { return w.src.publisher.cfg.Store.Update(ctx, closure) }, fn)
}

// MaxRide is how long a commit that no caller waits for may wait for another commit.
const MaxRide = 50 * time.Millisecond

// CommitAlong is Commit for changes that no caller waits for: it joins the next commit,
// or makes its own after MaxRide.
func (w *Writer) CommitAlong(fn func(tx *store.Tx) error) error {
	return w.commitBy(func(closure func(*store.Tx) error) error {
		s := w.src.publisher.cfg.Store
		attached, err := s.Attach(closure)
		if err != nil {
			return err
		}
		defer time.AfterFunc(MaxRide, func() { s.Hurry(attached) }).Stop()
		return attached.Wait()
	}, fn)
}

// In runs fn and stores the events that it adds as part of a commit of the caller, which
// must not change the instance afterwards.
func (w *Writer) In(tx *store.Tx, fn func(tx *store.Tx) error) error {
	if err := w.begin(tx); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	return w.write(tx)
}

// commitBy is Commit with a given way to run the closure.
func (w *Writer) commitBy(update func(func(*store.Tx) error) error, fn func(tx *store.Tx) error) error {
	closure := func(tx *store.Tx) error { return w.In(tx, fn) }
	err := update(closure)
	if w.outgrew(err) {
		err = update(closure)
	}
	return err
}

// outgrew reports whether a failed commit may succeed without its events, and switches
// them to delivery from memory.
func (w *Writer) outgrew(err error) bool {
	if !errors.Is(err, store.ErrDiskFull) || w.inMemory {
		return false
	}
	w.inMemory = slices.ContainsFunc(w.pending, func(n PendingEvent) bool { return n.written && !n.earlier })
	return w.inMemory
}

// Publish publishes the events after the commit: stored ones to receivers outside the
// file, the others from memory. It returns the error of the first event that could not be
// built or stored.
func (w *Writer) Publish(ctx context.Context) (err error) {
	for i := range w.pending {
		if failed := w.publishOne(ctx, &w.pending[i]); failed != nil && err == nil {
			err = fmt.Errorf("publish %s: %w", w.pending[i].kind, failed)
		}
	}
	return err
}

// PublishStored is Publish for events whose cause is stored: it logs a failure, and
// continues after ctx ends.
func (w *Writer) PublishStored(ctx context.Context) {
	if err := w.Publish(context.WithoutCancel(ctx)); err != nil {
		w.src.publisher.log.Warn("event not published", "instance_id", w.src.ID, "error", err)
	}
}

func (w *Writer) publishOne(ctx context.Context, n *PendingEvent) error {
	if !n.written && n.err == nil && w.MayStore() {
		if err := w.store(ctx, n); err != nil {
			return err
		}
	}
	switch {
	case n.err != nil:
		return n.err
	case !n.written:
		return w.publishNow(n)
	case len(n.notice.To) > 0 || !n.notice.Stored:
		w.src.publisher.cfg.Publish(n.notice)
	}
	return nil
}

// store gives an event a commit of its own: its cause is not stored, or was stored before
// the event became durable.
func (w *Writer) store(ctx context.Context, n *PendingEvent) error {
	s := w.src.publisher.cfg.Store
	if s.Admit() != nil {
		w.inMemory = true
		return nil
	}
	alone := &Writer{src: w.src}
	err := s.Update(ctx, func(tx *store.Tx) error {
		return alone.In(tx, func(*store.Tx) error {
			alone.pending = append(alone.pending, *n)
			return nil
		})
	})
	if alone.outgrew(err) {
		err = nil
	}
	if w.inMemory = alone.inMemory; err == nil && !w.inMemory {
		*n = alone.pending[0]
	}
	return err
}

// publishNow delivers from memory, to the current destinations. Without any, WebSocket
// clients still receive the notice.
func (w *Writer) publishNow(n *PendingEvent) error {
	p := w.src.publisher
	from, err := w.src.origin.Snapshot()
	if err != nil {
		return err
	}
	if w.inMemory {
		p.scarcity.tell(p.log, w.src.ID, n.kind)
		if p.cfg.Lost != nil && !n.noted && !n.earlier {
			p.cfg.Lost(w.src.ID)
		}
	}
	to := w.src.origin.Destinations(n.kind, n.about)
	if len(to) == 0 && p.cfg.Watched != nil && !p.cfg.Watched(w.src.ID) {
		return nil
	}
	body, forGlobal, err := w.bodiesNow(n, from)
	if err != nil {
		return err
	}
	if n.id == uuid.Nil {
		n.id = NewEventID()
	}
	p.cfg.Publish(w.notice(n, from, body, withBody(to, forGlobal)))
	return nil
}
