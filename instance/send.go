package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/event"
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

// SendAndStore sends a message, stores it and publishes send.message. It
// returns the stored message. Errors as of Send, and ErrNotStored.
func (s *Supervisor) SendAndStore(ctx context.Context, id int64, out event.Outgoing, attributes event.Attributes, requestID string) (event.Message, error) {
	sent, err := s.Send(ctx, id, out)
	if err != nil {
		return event.Message{}, err
	}
	sent.Message.InstanceID, sent.Message.ExternalAttributes = id, attributes
	// The message is out: its record must not depend on the caller's patience.
	ctx = context.WithoutCancel(ctx)
	stored, err := s.reg.saveMessage(ctx, id, sent.Message)
	if err != nil {
		return *sent.Message, fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	s.reg.announce(id, event.SendMessage, stored, requestID)
	return stored, nil
}
