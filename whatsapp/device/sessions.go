package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"postern/store"
)

// ErrSessionUsed is returned by PutSession when the session encrypted another
// message since it was read. The library then does not send the one that used
// the same key.
var ErrSessionUsed = errors.New("device: the session encrypted another message meanwhile")

func sessionKey(address string) []byte { return store.Key(byte('S'), address) }

// exclusively calls do while no decryption and no send is between reading
// sessions and writing them, and all that were sent with are in the file.
func (a *account) exclusively(ctx context.Context, do func() error) error {
	if a.overlayOf(ctx) != nil {
		return do() // the decryption has the ratchet
	}
	if s := sendingOf(ctx); s == nil || s.holds != a {
		a.ratchet.Lock()
		defer a.ratchet.Unlock()
	}
	if err := a.settle(ctx); err != nil {
		return err
	}
	return do()
}

// settle returns when the sessions of all messages that left are in the file.
func (a *account) settle(ctx context.Context) error {
	if err := a.flights.settle(ctx); err != nil {
		return fmt.Errorf("device of instance %d: %w", a.instance, err)
	}
	return nil
}

// GetSession implements [wastore.SessionStore].
func (a *account) GetSession(ctx context.Context, address string) ([]byte, error) {
	sessions, err := a.GetManySessions(ctx, []string{address})
	return sessions[address], err
}

// HasSession implements [wastore.SessionStore].
func (a *account) HasSession(ctx context.Context, address string) (bool, error) {
	v, err := a.GetSession(ctx, address)
	return v != nil, err
}

// GetManySessions has an entry for every address, nil when there is no
// session: the library asks for keys of those that are nil. Inside
// [Container.Sending] the sessions are the send's alone until PutManySessions.
func (a *account) GetManySessions(ctx context.Context, addresses []string) (map[string][]byte, error) {
	if s := sendingOf(ctx); s != nil && a.overlayOf(ctx) == nil {
		s.hold(a)
		return a.sessions(ctx, addresses, a.flights.session)
	}
	if err := a.settle(ctx); err != nil {
		return nil, err
	}
	return a.sessions(ctx, addresses, func(string) []byte { return nil })
}

// sessions reads from the file what newer does not have.
func (a *account) sessions(ctx context.Context, addresses []string, newer func(address string) []byte) (map[string][]byte, error) {
	sessions := make(map[string][]byte, len(addresses))
	err := a.read(ctx, func(x access) (err error) {
		for _, address := range addresses {
			raw := newer(address)
			if raw == nil {
				if raw, err = x.get(sessionKey(address)); err != nil {
					return err
				}
			}
			if sessions[address], err = a.c.decodeSession(raw); err != nil {
				return fmt.Errorf("session with %s: %w", address, err)
			}
		}
		return nil
	})
	return sessions, err
}

// PutSession stores a session after a decryption, or after one encryption that
// is no send: a message is sent again, or the own phone is asked. Then it fails
// with ErrSessionUsed when a send came in between.
func (a *account) PutSession(ctx context.Context, address string, session []byte) error {
	return a.exclusively(ctx, func() error {
		known, value := a.storedSession(ctx, address), a.c.encodeSession(session)
		if a.overlayOf(ctx) == nil && a.c.usedSince(known, session) {
			return fmt.Errorf("%w: %s", ErrSessionUsed, address)
		}
		if bytes.Equal(known, value) {
			return nil
		}
		return a.write(ctx, func(x access) error { return x.put(sessionKey(address), value) })
	})
}

// storedSession returns the record of a session; one that cannot be read is
// none, and is replaced.
func (a *account) storedSession(ctx context.Context, address string) []byte {
	raw, err := a.get(ctx, sessionKey(address))
	if err != nil {
		return nil
	}
	return raw
}

// PutManySessions is called before the messages that the sessions encrypted
// are sent. Inside [Container.Sending] it returns at once, and the sessions are
// written while the message is on its way.
func (a *account) PutManySessions(ctx context.Context, sessions map[string][]byte) error {
	if len(sessions) == 0 {
		return nil
	}
	values := make(map[string][]byte, len(sessions))
	for address, session := range sessions {
		values[address] = a.c.encodeSession(session)
	}
	put := func(x access) error {
		for address, value := range values {
			if err := x.put(sessionKey(address), value); err != nil {
				return err
			}
		}
		return nil
	}
	s := sendingOf(ctx)
	if s == nil || a.overlayOf(ctx) != nil {
		return a.exclusively(ctx, func() error { return a.write(ctx, put) })
	}
	s.hold(a)
	defer s.release()
	if err := a.flights.launch(ctx, values, s.with(a.inTx(put))); err != nil {
		return fmt.Errorf("device of instance %d: %w", a.instance, err)
	}
	s.done()
	return nil
}

// DeleteSession implements [wastore.SessionStore].
func (a *account) DeleteSession(ctx context.Context, address string) error {
	return a.exclusively(ctx, func() error { return a.remove(ctx, sessionKey(address)) })
}

// DeleteAllSessions removes the sessions with all devices of a user, in both
// forms of the address.
func (a *account) DeleteAllSessions(ctx context.Context, phone string) error {
	return a.exclusively(ctx, func() error { return a.deleteUser(ctx, 'S', phone) })
}
