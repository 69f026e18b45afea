package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/event"
)

// Connection is the answer of Connect.
type Connection struct {
	Record            Record
	Code              *event.QRCode // to be scanned; nil when connected
	AlreadyConnected  bool
	AlreadyConnecting bool // an earlier call's attempt goes on
}

// Status is what is known of a connection now.
type Status struct {
	Record         Record
	Connected      bool // socket open and logged in
	LoggedIn       bool // linked to a phone
	LastReceivedAt time.Time
	LastSentAt     time.Time
}

// Connect connects an instance and waits for the first QR code, or for the
// login of a paired one. The attempt goes on after the answer and after ctx.
// Errors: ErrNotFound; ErrNoCode when neither came within ConnectTimeout; or
// one that wraps event.ErrNotConnected and says why.
func (s *Supervisor) Connect(ctx context.Context, id int64, requestID string) (Connection, error) {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return Connection{}, err
	}
	if k.session.Online() {
		rec, err := s.reg.ByID(id)
		return Connection{Record: rec, AlreadyConnected: true}, err
	}
	already := k.begin(requestID)
	if !already {
		s.set(id, event.Fact{Status: event.Connecting, RequestID: requestID})
		k.startDial(0)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.ConnectTimeout, ErrNoCode)
	defer cancel()
	if err := k.await(ctx, k.settled); err != nil {
		return Connection{}, fmt.Errorf("connect: %w", err)
	}
	return k.connection(already)
}

// begin notes the API call that wants the connection. It reports whether an
// attempt is under way already.
func (k *keeper) begin(requestID string) (already bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dialing || k.code != nil {
		return true
	}
	k.request, k.failure = requestID, nil
	return false
}

// connection is what a settled attempt came to.
func (k *keeper) connection(already bool) (Connection, error) {
	k.mu.Lock()
	code, failure := k.code, k.failure
	k.mu.Unlock()
	rec, err := k.sup.reg.ByID(k.id)
	if err != nil {
		return Connection{}, err
	}
	if code == nil && !k.session.Online() {
		why := rec.LastError
		if failure != nil {
			why = failure.Error()
		}
		return Connection{}, fmt.Errorf("%w: %s (%s)", event.ErrNotConnected, rec.Status, why)
	}
	return Connection{Record: rec, Code: code, AlreadyConnecting: already}, nil
}

// PairCode begins a pairing by code for the phone number and returns the code
// to type there. Errors: ErrNotFound, ErrAlreadyPaired, one that wraps
// event.ErrRecipient or event.ErrNotConnected.
func (s *Supervisor) PairCode(ctx context.Context, id int64, phone, requestID string) (string, error) {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return "", err
	}
	if k.session.Paired() {
		return "", ErrAlreadyPaired
	}
	k.mu.Lock()
	k.request, k.calm = requestID, false
	k.mu.Unlock()
	code, err := k.session.PairCode(ctx, phone)
	if err == nil && s.cfg.OnCode != nil {
		s.cfg.OnCode(id, code)
	}
	return code, err
}

// Logout unlinks an instance from its phone. When WhatsApp cannot be told, the
// link is forgotten on this side, and told is false: the phone's owner should
// remove the device there. Errors: ErrNotFound, ErrNeverPaired.
func (s *Supervisor) Logout(ctx context.Context, id int64, requestID string) (told bool, err error) {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return false, err
	}
	rec, err := s.reg.ByID(id)
	if err != nil {
		return false, err
	}
	if !k.session.Paired() && rec.OwnerJID == "" {
		if rec.Status == event.LoggedOut {
			return true, nil
		}
		return false, ErrNeverPaired
	}
	k.mu.Lock()
	k.calm = true
	k.mu.Unlock()
	err = k.session.Logout(ctx)
	told = err == nil
	if errors.Is(err, event.ErrNotConnected) {
		err = k.session.Forget(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("logout: %w", err)
	}
	f := event.Fact{
		Kind: event.ConnectionUpdated, Status: event.LoggedOut, Unlink: true, RequestID: requestID,
		Data: event.ConnectionUpdate{Type: event.TypeLoggedOut, Connection: event.ConnectionClose, LastConnection: rec.LastConnectedAt},
	}
	if err := s.reg.Report(ctx, id, f); err != nil {
		return told, err
	}
	k.note(f)
	return told, nil
}

// Restart drops the socket of a paired instance and dials anew. It does not
// wait for the login. Errors: ErrNotFound, or one that wraps
// event.ErrNotConnected when the instance was never paired.
func (s *Supervisor) Restart(ctx context.Context, id int64, requestID string) error {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return err
	}
	if !k.session.Paired() {
		return fmt.Errorf("%w: %w", event.ErrNotConnected, ErrNeverPaired)
	}
	if err := k.quiet(ctx); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	s.set(id, event.Fact{Status: event.Connecting, RequestID: requestID})
	k.mu.Lock()
	k.request, k.tries = requestID, 0
	k.mu.Unlock()
	k.startDial(0)
	return nil
}

// Status tells the truth about an instance's socket. A stored state that says
// online while the socket is gone is answered as reconnecting.
func (s *Supervisor) Status(id int64) (Status, error) {
	rec, err := s.reg.ByID(id)
	if err != nil {
		return Status{}, err
	}
	s.mu.Lock()
	k := s.keepers[id]
	s.mu.Unlock()
	st := Status{Record: rec, LoggedIn: rec.OwnerJID != ""}
	if k != nil {
		st.Connected, st.LoggedIn = k.session.Online(), k.session.Paired()
		k.mu.Lock()
		st.LastReceivedAt, st.LastSentAt = k.lastReceived, k.lastSent
		k.mu.Unlock()
	}
	if rec.Status == event.Online && !st.Connected {
		st.Record.Status = event.Reconnecting
	}
	return st, nil
}

// Send sends a message and stores nothing. Errors: ErrNotFound, or one that
// wraps a send error of package event.
func (s *Supervisor) Send(ctx context.Context, id int64, out event.Outgoing) (event.Sent, error) {
	k, err := s.keeper(ctx, id)
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
	if err := s.reg.Announce(id, event.SendMessage, stored, requestID); err != nil {
		return stored, fmt.Errorf("announce: %w", err)
	}
	return stored, nil
}
