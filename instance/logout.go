package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
)

// Logout unlinks an instance from its phone, and ends a pairing that is under way;
// what is not linked counts as logged out then, and nobody is told. A device that
// WhatsApp logged out before, and that is still kept, is removed when no pairing is under way. When WhatsApp cannot be told, the
// link is forgotten on this side, and told is false: the phone's owner should
// remove the device there. It goes on when ctx ends, for a link that is half
// cut helps nobody. Errors: ErrNotFound, or ErrForget when the device belongs to another
// network.
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
	if err := k.here(); err != nil {
		return false, fmt.Errorf("logout: %w", err)
	}
	pairing := k.pairing()
	k.halt()
	if !k.session.Paired() && rec.OwnerJID == "" && k.endPairing(rec, requestID) {
		if pairing || !k.session.LoggedOut() {
			return true, nil
		}
		if err := k.session.Forget(ctx); err != nil { // that WhatsApp logged it out is agreed to
			return false, fmt.Errorf("logout: %w", err)
		}
		return true, nil
	}
	if told, err = k.unlink(ctx); err != nil {
		if !k.session.Online() {
			k.set(event.Fact{Status: event.Disconnected, Error: err.Error()})
		}
		return false, fmt.Errorf("logout: %w", err)
	}
	return told, k.tellLoggedOut(ctx, requestID)
}

// pairing reports whether the instance is not linked, and is being linked now.
func (k *keeper) pairing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return (k.dialing || k.underWay()) && !k.session.Paired()
}

// GiveUpPairing ends a pairing that is under way, if one is. Errors: ErrNotFound, and
// ErrAlreadyPaired when the instance is linked, which it stays.
func (s *Supervisor) GiveUpPairing(ctx context.Context, id int64, requestID string) error {
	ctx = context.WithoutCancel(ctx)
	k, err := s.keeper(ctx, id)
	if err != nil {
		return err
	}
	if err := k.take(ctx); err != nil {
		return fmt.Errorf("give up a pairing: %w", err)
	}
	defer k.release()
	rec, err := s.reg.ByID(id)
	if err != nil {
		return err
	}
	if k.session.Paired() || rec.OwnerJID != "" {
		return ErrAlreadyPaired
	}
	k.halt()
	if !k.endPairing(rec, requestID) {
		k.begin(event.Connecting, requestID) // linked in this very moment
		return ErrAlreadyPaired
	}
	return nil
}

// endPairing drops the connection of an instance that is not linked, and with
// it the code or the passkey that waits for somebody. It reports false when the
// instance was linked in this very moment. The caller has the turn, and has
// ended all dialling.
func (k *keeper) endPairing(rec Record, requestID string) bool {
	asked := k.session.Passkey()
	k.session.Disconnect()
	if k.session.Paired() {
		return false
	}
	f := event.Fact{Status: event.LoggedOut}
	if asked != nil {
		f.Kind, f.RequestID = event.ConnectionUpdated, requestID
		f.Data = event.ConnectionUpdate{Type: event.TypePasskey, Connection: event.ConnectionClose, Passkey: &event.PasskeyState{}}
	}
	if rec.Status != event.LoggedOut || asked != nil {
		k.setAndTell(f)
	}
	return true
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
