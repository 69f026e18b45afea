package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
)

// Passkey waits until the pairing of an instance requests a passkey, and returns the
// challenge. It starts connecting if no attempt is in progress. Errors: ErrNotFound,
// ErrAlreadyPaired, ErrNoCode if none was requested within ConnectTimeout, or one that
// wraps event.ErrNotConnected.
func (s *Supervisor) Passkey(ctx context.Context, id int64, requestID string) (event.PasskeyChallenge, error) {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return event.PasskeyChallenge{}, err
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	if err := k.takeUnlessStopping(ctx); err != nil {
		return event.PasskeyChallenge{}, fmt.Errorf("passkey: %w", err)
	}
	if err := k.here(); err != nil {
		k.release()
		return event.PasskeyChallenge{}, fmt.Errorf("passkey: %w", err)
	}
	paired := k.session.Paired()
	if !paired {
		k.begin(event.Connecting, requestID)
	}
	k.release()
	if paired {
		return event.PasskeyChallenge{}, ErrAlreadyPaired
	}
	var waits *event.PasskeyChallenge
	asked := func() bool {
		waits = k.session.Passkey()
		return waits.Awaits() || k.session.Paired() || !k.dialing && !k.underWay()
	}
	if err := k.await(ctx, asked); err != nil {
		return event.PasskeyChallenge{}, fmt.Errorf("passkey: %w", err)
	}
	switch {
	case waits.Awaits():
		return *waits, nil
	case k.session.Paired():
		return event.PasskeyChallenge{}, ErrAlreadyPaired
	default:
		return event.PasskeyChallenge{}, fmt.Errorf("%w: the pairing ended", event.ErrNotConnected)
	}
}

// PasskeyAsked returns the current challenge of an instance, even if it was answered
// without result. It neither waits nor connects. Errors: ErrNotFound, event.ErrNoPasskey.
func (s *Supervisor) PasskeyAsked(id int64) (event.PasskeyChallenge, error) {
	k, err := s.known(id)
	if err != nil {
		return event.PasskeyChallenge{}, err
	}
	if k != nil {
		if asked := k.session.Passkey(); asked != nil && asked.Step == event.PasskeyRequired {
			return *asked, nil
		}
	}
	return event.PasskeyChallenge{}, event.ErrNoPasskey
}

// known returns the keeper of an instance, nil if none was needed yet. Errors:
// ErrNotFound.
func (s *Supervisor) known(id int64) (*keeper, error) {
	if _, err := s.reg.ByID(id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keepers[id], nil
}

// AssertPasskey forwards an authenticator's answer. The pairing continues afterwards.
// Errors: ErrNotFound, event.ErrNoPasskey, event.ErrPasskeyRefused, ErrNoCode if WhatsApp
// did not accept it within ConnectTimeout, or one that wraps event.ErrNotConnected.
func (s *Supervisor) AssertPasskey(ctx context.Context, id int64, a event.PasskeyAssertion) error {
	return s.onSession(ctx, id, func(ctx context.Context, session Session) error { return session.AssertPasskey(ctx, a) })
}

// ConfirmPasskey confirms that the challenge's code matches the one on the phone. Errors
// are those of AssertPasskey.
func (s *Supervisor) ConfirmPasskey(ctx context.Context, id int64) error {
	return s.onSession(ctx, id, func(ctx context.Context, session Session) error { return session.ConfirmPasskey(ctx) })
}

func (s *Supervisor) onSession(ctx context.Context, id int64, do func(context.Context, Session) error) error {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return err
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	err = do(ctx, k.session)
	if err != nil && errors.Is(context.Cause(ctx), ErrNoCode) {
		return fmt.Errorf("passkey: %w", ErrNoCode)
	}
	if err != nil {
		return fmt.Errorf("passkey: %w", err)
	}
	return nil
}
