package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/event"
	"postern/store"
)

// Send sends a message and stores nothing. Errors: ErrNotFound, or one that
// wraps a send error of package event.
func (s *Supervisor) Send(ctx context.Context, id int64, out event.Outgoing) (event.Sent, error) {
	k, err := s.keeper(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, event.ErrNotConnected) {
		err = fmt.Errorf("%w: %w", event.ErrNotConnected, err) // no session, so nothing left
	}
	if err != nil {
		return event.Sent{}, err
	}
	if !k.session.Online() {
		return event.Sent{}, fmt.Errorf("instance %d: %w", id, event.ErrNotConnected)
	}
	sent, err := k.session.Send(ctx, out)
	if err == nil {
		k.mu.Lock()
		k.lastSent = time.Now()
		k.mu.Unlock()
	}
	return sent, err
}

// Keeping says how a message is stored once it was sent.
type Keeping struct {
	Attributes event.Attributes // stored and told with the message; nil: {}
	RequestID  string           // of the call that sends, for the event
	// InCommit is called with the stored message in the commit that stores it,
	// maybe twice. Its error undoes that commit, so that the send ends with
	// ErrNotStored. nil: nothing more is stored.
	InCommit func(tx *store.Tx, stored event.Message) error
}

// SendAndStore sends a message, stores it and publishes send.message. It
// returns the stored message. Errors as of Send, and ErrNotStored.
func (s *Supervisor) SendAndStore(ctx context.Context, id int64, out event.Outgoing, k Keeping) (event.Message, error) {
	sent, err := s.Send(ctx, id, out)
	if err != nil {
		return event.Message{}, err
	}
	if k.Attributes == nil {
		k.Attributes = event.Attributes("{}")
	}
	sent.Message.InstanceID, sent.Message.ExternalAttributes = id, k.Attributes
	// The message is out: its record must not depend on the caller's patience.
	ctx = context.WithoutCancel(ctx)
	stored, err := s.reg.saveMessage(ctx, id, sent.Message, k.InCommit)
	if err != nil {
		return *sent.Message, fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	s.reg.announce(id, event.SendMessage, stored, k.RequestID)
	return stored, nil
}
