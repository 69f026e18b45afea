package whatsapp

import (
	"context"
	"errors"
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/appstate"

	"postern/event"
	"postern/internal/netfault"
)

// ask does one thing at WhatsApp that is no send, in at most
// Config.SendTimeout. Its error names what was asked and wraps exactly one of
// [event.ErrNotConnected], [event.ErrRefused] and [event.ErrNoAnswer], or the
// sentinel of this program that do returned.
func (s *Session) ask(ctx context.Context, what string, do func(context.Context, *whatsmeow.Client) error) error {
	if !s.Online() {
		return fmt.Errorf("%s: %w", what, event.ErrNotConnected)
	}
	ctx, cancel := context.WithTimeout(ctx, s.conn.cfg.SendTimeout)
	defer cancel()
	if err := do(ctx, s.client()); err != nil {
		return fmt.Errorf("%s: %w", what, classifyAnswer(err))
	}
	return nil
}

// classifyAnswer gives the error of a request the sentinel that tells what
// became of it. What the library itself refuses never left.
func classifyAnswer(err error) error {
	var lost *whatsmeow.DisconnectedError
	err = netfault.Plain(err)
	switch {
	case errors.Is(err, event.ErrRefused), errors.Is(err, event.ErrNotConnected), errors.Is(err, event.ErrOutcomeUnknown),
		errors.Is(err, event.ErrStateConflict):
		return err
	case noSocket(err), noWay(err), errors.Is(err, whatsmeow.ErrNotLoggedIn):
		return fmt.Errorf("%w: %w", event.ErrNotConnected, err)
	case errors.As(err, &lost), errors.Is(err, whatsmeow.ErrIQTimedOut),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", event.ErrNoAnswer, err)
	}
	return fmt.Errorf("%w: %w", event.ErrRefused, err)
}

// changeState changes what an account's devices have in common, such as which
// chats are archived. One change at a time: each is based on the version
// before it. Its error may also wrap [event.ErrStateConflict].
func (s *Session) changeState(ctx context.Context, what string, patch appstate.PatchInfo) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.change(ctx, what, changes(patch), func(ctx context.Context, cli *whatsmeow.Client) error {
		return s.sendState(ctx, cli, patch)
	})
}

// change is ask for something that WhatsApp tells of afterwards: the event has
// the request id of ctx.
func (s *Session) change(ctx context.Context, what string, keys []string, do func(context.Context, *whatsmeow.Client) error) error {
	forget := s.causes.expect(ctx, causePatience, keys...)
	err := s.ask(ctx, what, do)
	if err != nil {
		forget()
	}
	return err
}
