package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
)

// Connection is the result of Connect.
type Connection struct {
	Record            Record
	Code              *event.QRCode // to be scanned; nil when connected
	AlreadyConnected  bool
	AlreadyConnecting bool // an earlier call's attempt is in progress
}

// Connect connects an instance and waits for the first QR code, or for the login of a
// paired instance. The attempt continues after Connect returns and after ctx ends. While
// a typed pairing code waits for its phone, or a passkey is requested, the result has no
// code. Errors: ErrNotFound; ErrNoCode if neither came within ConnectTimeout; or one that
// wraps event.ErrNotConnected and gives the reason, such as ErrOutdated.
func (s *Supervisor) Connect(ctx context.Context, id int64, requestID string) (Connection, error) {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return Connection{}, err
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	if err := k.takeUnlessStopping(ctx); err != nil {
		return Connection{}, fmt.Errorf("connect: %w", err)
	}
	err = k.here()
	if err == nil { // a caller may know the new state by its event already
		err = k.await(ctx, func() bool { return k.telling == 0 })
	}
	if err != nil {
		k.release()
		return Connection{}, fmt.Errorf("connect: %w", err)
	}
	online, already := k.session.Online(), false
	if !online {
		already = k.begin(event.Connecting, requestID)
	}
	k.release()
	if online {
		rec, err := s.reg.ByID(id)
		return Connection{Record: rec, AlreadyConnected: true}, err
	}
	if err := k.await(ctx, k.settled); err != nil {
		return Connection{}, fmt.Errorf("connect: %w", err)
	}
	return k.connection(already)
}

// begin starts a connection attempt unless one is in progress. The caller holds the turn.
func (k *keeper) begin(as event.State, requestID string) (already bool) {
	k.mu.Lock()
	if already = k.dialing || k.underWay(); !already {
		k.request, k.failure = requestID, nil
	} else if k.dialing && as == event.Connecting {
		k.asked = true
		k.broadcast()
	}
	k.mu.Unlock()
	if !already {
		k.set(event.Fact{Status: as, RequestID: requestID})
		k.startDial()
	}
	return already
}

// connection returns the result of a settled attempt.
func (k *keeper) connection(already bool) (Connection, error) {
	k.mu.Lock()
	code, failure, state := k.code, k.failure, k.state
	k.mu.Unlock()
	rec, err := k.sup.reg.ByID(k.id)
	if err != nil {
		return Connection{}, err
	}
	passkey := k.session.Passkey()
	if passkey != nil {
		code = nil // already used, even if the login is not reported yet
	}
	if code == nil && state != event.Online && state != event.PairingCodeState && passkey == nil {
		why := rec.LastError
		if failure != nil {
			why = failure.Error()
		}
		if state == event.ClientOutdated {
			return Connection{}, fmt.Errorf("%w: %w", event.ErrNotConnected, ErrOutdated)
		}
		return Connection{}, fmt.Errorf("%w: %s (%s)", event.ErrNotConnected, rec.Status, why)
	}
	return Connection{Record: rec, Code: code, AlreadyConnecting: already}, nil
}

// PairCode begins a pairing by code for the phone number and returns the code to type on
// the phone. Errors: ErrNotFound; ErrAlreadyPaired; ErrNoCode if none came within
// ConnectTimeout; or one that wraps event.ErrRecipient or event.ErrNotConnected, in that
// case possibly ErrOutdated.
func (s *Supervisor) PairCode(ctx context.Context, id int64, phone, requestID string) (string, error) {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return "", err
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	if err := k.takeUnlessStopping(ctx); err != nil {
		return "", fmt.Errorf("pairing code: %w", err)
	}
	defer k.release()
	if err := k.here(); err != nil {
		return "", fmt.Errorf("pairing code: %w", err)
	}
	if k.session.Paired() {
		return "", ErrAlreadyPaired
	}
	k.beginCode(requestID)
	defer k.endCode()
	code, err := k.session.PairCode(ctx, phone)
	for err != nil && k.cured(ctx) {
		code, err = k.session.PairCode(ctx, phone)
	}
	switch {
	case err == nil:
	case k.session.Paired():
		return "", ErrAlreadyPaired // by a concurrent scan
	case gaveUp(ctx):
		return "", fmt.Errorf("pairing code: %w", context.Cause(ctx))
	case k.codeRefused():
		return "", fmt.Errorf("pairing code: %w: %w", event.ErrNotConnected, ErrOutdated)
	default:
		return "", fmt.Errorf("pairing code: %w", err)
	}
	if s.cfg.OnCode != nil {
		s.cfg.OnCode(id, code)
	}
	return code, nil
}

// gaveUp reports whether this side, not the caller, ended the wait.
func gaveUp(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, ErrNoCode) || errors.Is(cause, errStopping)
}

// Restart drops the socket of a paired instance and dials again. A retained device that
// WhatsApp logged out is tried once more. Restart does not wait for the login. Errors:
// ErrNotFound; ErrForget if the device belongs to another network; or one that wraps
// event.ErrNotConnected if the instance was never paired.
func (s *Supervisor) Restart(ctx context.Context, id int64, requestID string) error {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return err
	}
	if err := k.take(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	defer k.release()
	if err := k.here(); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	if !k.session.Paired() {
		recalled, err := k.recall(ctx)
		if err != nil {
			return fmt.Errorf("restart: %w", err)
		}
		if !recalled {
			return fmt.Errorf("%w: %w", event.ErrNotConnected, ErrNeverPaired)
		}
	}
	k.quiet()
	k.set(event.Fact{Status: event.Disconnected})
	k.begin(event.Connecting, requestID)
	return nil
}

// recall restores a retained device that WhatsApp logged out, and reports whether there
// is one. It ends a pairing in progress.
func (k *keeper) recall(ctx context.Context) (bool, error) {
	if !k.session.LoggedOut() && k.now() != event.LoggedOut {
		return false, nil
	}
	k.halt()
	return k.session.Recall(context.WithoutCancel(ctx))
}
