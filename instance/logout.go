package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
)

// Logout unlinks an instance from its phone, or ends a pairing in progress; an unlinked
// instance then counts as logged out, without notice to WhatsApp. Without a pairing in
// progress it also removes a retained device that WhatsApp logged out. If WhatsApp cannot
// be reached, the link is removed on this side only and notified is false: the phone's owner
// should remove the device there. Logout continues after ctx ends, so that a link is
// never half removed. Errors: ErrNotFound, or ErrForget if the device belongs to another
// network.
func (s *Supervisor) Logout(ctx context.Context, id int64, requestID string) (notified bool, err error) {
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
		if err := k.session.Forget(ctx); err != nil { // confirms that WhatsApp logged it out
			return false, fmt.Errorf("logout: %w", err)
		}
		return true, nil
	}
	if notified, err = k.unlink(ctx); err != nil {
		if !k.session.Online() {
			k.set(event.Fact{Status: event.Disconnected, Error: err.Error()})
		}
		return false, fmt.Errorf("logout: %w", err)
	}
	return notified, k.tellLoggedOut(ctx, requestID)
}

// pairing reports whether the instance is unlinked and a pairing is in progress.
func (k *keeper) pairing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return (k.dialing || k.underWay()) && !k.session.Paired()
}

// GiveUpPairing ends a pairing in progress. Errors: ErrNotFound, and ErrAlreadyPaired if
// the instance is linked; it remains so.
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
		k.begin(event.Connecting, requestID) // linked concurrently
		return ErrAlreadyPaired
	}
	return nil
}

// endPairing drops the connection of an unlinked instance, and with it a pending code or
// passkey. It returns false if the instance was linked concurrently. The caller holds the
// turn and has ended all dialling.
func (k *keeper) endPairing(rec Record, requestID string) bool {
	asked := k.session.Passkey()
	k.session.Disconnect()
	if k.session.Paired() {
		return false
	}
	f := event.Fact{Status: event.LoggedOut, ByCall: true}
	if asked != nil {
		f.Kind, f.RequestID = event.ConnectionUpdated, requestID
		f.Data = event.ConnectionUpdate{Type: event.TypePasskey, Connection: event.ConnectionClose, Passkey: &event.PasskeyState{}}
	}
	if rec.Status != event.LoggedOut || !rec.LoggedOutByCall || asked != nil {
		k.setAndTell(f)
	}
	return true
}

// unlink removes the link at WhatsApp if it can be reached, else on this side only.
func (k *keeper) unlink(ctx context.Context) (notified bool, err error) {
	err = event.ErrNotConnected
	if k.session.Paired() {
		err = k.session.Logout(ctx)
	}
	if !errors.Is(err, event.ErrNotConnected) {
		return err == nil, err
	}
	return false, k.session.Forget(context.WithoutCancel(ctx))
}
