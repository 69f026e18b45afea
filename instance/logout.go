package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
)

// Logout unlinks an instance from its phone, and ends a pairing that is under way;
// what is not linked counts as logged out then, and nobody is told. When WhatsApp cannot be told, the
// link is forgotten on this side, and told is false: the phone's owner should
// remove the device there. It goes on when ctx ends, for a link that is half
// cut helps nobody. Errors: ErrNotFound.
func (s *Supervisor) Logout(ctx context.Context, id int64, requestID string) (told bool, err error) {
	k, err := s.keeper(context.WithoutCancel(ctx), id)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ConnectTimeout)
	defer cancel()
	if err := k.take(ctx); err != nil {
		return false, fmt.Errorf("logout: %w", err)
	}
	defer k.release()
	rec, err := s.reg.ByID(id)
	if err != nil {
		return false, err
	}
	k.halt()
	if !k.session.Paired() && rec.OwnerJID == "" {
		if rec.Status != event.LoggedOut {
			k.set(event.Fact{Status: event.LoggedOut})
		}
		return true, nil
	}
	if told, err = k.unlink(ctx); err != nil {
		if !k.session.Online() {
			k.set(event.Fact{Status: event.Disconnected, Error: err.Error()})
		}
		return false, fmt.Errorf("logout: %w", err)
	}
	f := event.Fact{
		Kind: event.ConnectionUpdated, Status: event.LoggedOut, Unlink: true, RequestID: requestID,
		Data: event.ConnectionUpdate{Type: event.TypeLoggedOut, Connection: event.ConnectionClose},
	}
	err = s.reg.Report(ctx, id, f)
	k.note(f, err)
	return told, err
}

// unlink cuts the link, at WhatsApp when it can be told, else here alone.
func (k *keeper) unlink(ctx context.Context) (told bool, err error) {
	err = event.ErrNotConnected
	if k.session.Paired() {
		err = k.session.Logout(ctx)
	}
	if !errors.Is(err, event.ErrNotConnected) {
		return err == nil, err
	}
	return false, k.session.Forget(context.WithoutCancel(ctx))
}
