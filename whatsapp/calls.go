package whatsapp

import (
	"context"
	"errors"
	"fmt"

	"go.mau.fi/whatsmeow"

	"postern/event"
	"postern/internal/netfault"
)

// calls sends requests other than messages to WhatsApp for the account.
type calls struct {
	conn   *connection
	causes causes
}

// ask makes one request, for at most Config.SendTimeout. Its error names the request
// and wraps exactly one of [event.ErrNotConnected], [event.ErrRefused] and
// [event.ErrNoAnswer], or the sentinel that do returned.
func (c *calls) ask(ctx context.Context, what string, do func(context.Context, *whatsmeow.Client) error) error {
	if !c.conn.isOnline() {
		return fmt.Errorf("%s: %w", what, event.ErrNotConnected)
	}
	ctx, cancel := context.WithTimeout(ctx, c.conn.cfg.SendTimeout)
	defer cancel()
	if err := do(ctx, c.conn.client()); err != nil {
		return fmt.Errorf("%s: %w", what, classifyAnswer(err))
	}
	return nil
}

// classifyAnswer wraps the error of a request in the sentinel of its outcome. A request
// that the library itself rejects was never sent.
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

// change is ask for a change that WhatsApp reports afterwards: its event gets the
// request id of ctx.
func (c *calls) change(ctx context.Context, what string, keys []string, do func(context.Context, *whatsmeow.Client) error) error {
	forget := c.causes.expect(ctx, causePatience, keys...)
	err := c.ask(ctx, what, do)
	if err != nil {
		forget()
	}
	return err
}
