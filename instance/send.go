package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"postern/delivery"

	"postern/event"
	"postern/store"
)

// Send sends a message without storing it. Errors: ErrNotFound, or one that wraps a send
// error of package event.
func (s *Supervisor) Send(ctx context.Context, id int64, out event.Outgoing) (event.Sent, error) {
	k, err := s.keeper(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, event.ErrNotConnected) {
		err = fmt.Errorf("%w: %w", event.ErrNotConnected, err) // no session, so nothing left
	}
	if err != nil {
		return event.Sent{}, err
	}
	if err := k.session.WrongNetwork(); err != nil {
		return event.Sent{}, fmt.Errorf("instance %d: %w", id, err)
	}
	if !k.session.Online() {
		return event.Sent{}, fmt.Errorf("instance %d: %w", id, event.ErrNotConnected)
	}
	pass, err := s.pace(id, &out)
	if err != nil {
		return event.Sent{}, fmt.Errorf("instance %d: %w", id, err)
	}
	sent, err := k.session.Send(ctx, out)
	pass.End(left(err))
	err = k.judge(ctx, out.To, err)
	if err == nil {
		k.mu.Lock()
		k.lastSent = time.Now()
		k.mu.Unlock()
		s.reg.countSent(id)
	}
	return sent, err
}

// Keeping describes how a sent message is stored.
type Keeping struct {
	Attributes event.Attributes // stored and published with the message; nil: {}
	RequestID  string           // of the sending call, for the event
	// InCommit is called with the stored message in its commit, possibly twice. Its error
	// aborts the commit, and the send ends with ErrNotStored. It may be nil.
	InCommit func(tx *store.Tx, stored event.Message) error
}

// SendAndStore sends a message, stores it and publishes send.message. It returns the
// stored message. Errors: those of Send, and ErrNotStored.
func (s *Supervisor) SendAndStore(ctx context.Context, id int64, out event.Outgoing, k Keeping) (stored event.Message, err error) {
	m := sentMessage{id, out.ID}
	s.reg.underway.begin(m)
	var found int64 // 0: not stored
	defer func() {
		if waiting := s.reg.underway.end(m); len(waiting) > 0 {
			s.reg.spawn(func() { s.reg.reportEarly(id, found, waiting) })
		}
	}()
	if stored, err = s.sendAndStore(ctx, id, out, k); err == nil {
		found = stored.ID
	}
	return stored, err
}

func (s *Supervisor) sendAndStore(ctx context.Context, id int64, out event.Outgoing, k Keeping) (event.Message, error) {
	sent, err := s.Send(ctx, id, out)
	if err != nil {
		return event.Message{}, err
	}
	if k.Attributes == nil {
		k.Attributes = event.Attributes("{}")
	}
	sent.Message.InstanceID, sent.Message.ExternalAttributes = id, k.Attributes
	// The message was sent: store it even if the caller gives up.
	ctx = context.WithoutCancel(ctx)
	keep := keeping{t: s.reg.source(id).Writer(), kind: event.SendMessage, about: s.reg.events.About(sent.Message), requestID: k.RequestID, also: k.InCommit}
	stored, _, err := s.reg.keepMessage(ctx, id, sent.Message, keep)
	if err != nil {
		return *sent.Message, fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	keep.t.PublishStored(ctx)
	return stored, nil
}

// Sent is a message that WhatsApp accepted, to be stored in another commit.
type Sent struct {
	id      int64
	message event.Message
	about   event.About
	t       *delivery.Writer
}

// Sent prepares storing m, which the instance has sent.
func (r *Registry) Sent(id int64, m *event.Message) *Sent {
	return &Sent{id: id, message: *m, about: r.events.About(m), t: r.source(id).Writer()}
}

// Store stores the message as part of a commit, with its send.message event if that is
// durable, and returns its id. It may run in several attempts of a closure, and must be
// the last operation on the instance there.
func (s *Sent) Store(tx *store.Tx) (id int64, err error) {
	err = s.t.In(tx, func(tx *store.Tx) error {
		if id, _, err = storeMessage(tx, s.id, &s.message, uuid.Nil); err != nil {
			return err
		}
		payload := s.message
		payload.ID = id
		s.t.Add(event.SendMessage, payload, s.about, "")
		return nil
	})
	return id, err
}

// Tell publishes send.message after the commit, unless the instance was deleted in the
// meantime.
func (s *Sent) Tell() { _ = s.t.Publish(context.Background()) }
