package device

import (
	"bytes"
	"context"
	"fmt"

	"postern/store"
)

// The library encrypts in three ways. A send reads many sessions and writes them back
// before the message is sent, inside [Container.Sending]. A message that is sent again,
// or a request to the own phone, reads one session and writes it back; nothing shows
// that both belong together. A session that is read outside of decryptions and sends is
// therefore moved past the keys of one message at once: they are reserved for that
// message, and what is written back is known.

func sessionKey(address string) []byte { return store.Key(byte('S'), address) }

// exclusively calls do while no decryption or send is between reading sessions and
// writing them, and all sessions used for sends are in the file.
func (a *account) exclusively(ctx context.Context, do func() error) error {
	if a.overlayOf(ctx) != nil {
		return do() // the decryption has the ratchet
	}
	if s := sendingOf(ctx); s == nil || s.holds != a {
		a.flights.ratchet.Lock()
		defer a.flights.ratchet.Unlock()
	}
	if err := a.settle(ctx); err != nil {
		return err
	}
	return do()
}

// settle returns when the sessions of all sent messages are in the file.
func (a *account) settle(ctx context.Context) error {
	if err := a.flights.settle(ctx); err != nil {
		return fmt.Errorf("device of instance %d: %w", a.instance, err)
	}
	return nil
}

// moves reports whether ctx belongs to a decryption or a send.
func (a *account) moves(ctx context.Context) bool {
	return a.overlayOf(ctx) != nil || sendingOf(ctx) != nil
}

// GetSession implements [wastore.SessionStore]. Outside of decryptions and sends the
// session is for one encryption.
func (a *account) GetSession(ctx context.Context, address string) ([]byte, error) {
	if !a.moves(ctx) {
		sessions, err := a.take(ctx, []string{address}, 1)
		return sessions[address], err
	}
	sessions, err := a.GetManySessions(ctx, []string{address})
	return sessions[address], err
}

// HasSession implements [wastore.SessionStore]. A spent session exists only for
// decryptions.
func (a *account) HasSession(ctx context.Context, address string) (bool, error) {
	sessions, err := a.sessions(ctx, []string{address})
	return sessions[address] != nil, err
}

// GetManySessions returns an entry for every address, nil if there is no session: the
// library then requests keys. Inside [Container.Sending] the sessions are reserved for
// the send until PutManySessions; outside of that and of decryptions they are for one
// message.
func (a *account) GetManySessions(ctx context.Context, addresses []string) (map[string][]byte, error) {
	if !a.moves(ctx) {
		return a.take(ctx, addresses, keysPerMessage)
	}
	if a.overlayOf(ctx) == nil {
		sendingOf(ctx).hold(a)
		a.flights.arrive()
	}
	return a.sessions(ctx, addresses)
}

// sessions returns pending sessions, and the others from the file. An unreadable
// session counts as none. The pending ones are read first: their writer holds its lock
// over a commit, which may wait for all readers of the file.
func (a *account) sessions(ctx context.Context, addresses []string) (map[string][]byte, error) {
	sessions, restored, err := a.stored(ctx, addresses)
	if len(restored) == 0 || a.overlayOf(ctx) != nil {
		return sessions, err
	}
	for address := range restored {
		if session := sessions[address]; session != nil && !sends(session) {
			restored[address], sessions[address] = session, nil
		}
	}
	if s := sendingOf(ctx); s != nil {
		s.restore(restored)
	}
	return sessions, err
}

// stored returns sessions including spent ones. restored has the addresses of all that
// may have spent states.
func (a *account) stored(ctx context.Context, addresses []string) (sessions, restored map[string][]byte, err error) {
	sessions = make(map[string][]byte, len(addresses))
	leaving := a.flights.sessions(addresses)
	err = a.read(ctx, func(x reader) (err error) {
		for _, address := range addresses {
			raw := leaving[address]
			if raw == nil {
				if raw, err = x.get(sessionKey(address)); err != nil {
					return err
				}
			}
			if sessions[address] = a.readable(raw); isRestored(raw) {
				if restored == nil {
					restored = map[string][]byte{}
				}
				restored[address] = nil
			}
		}
		return nil
	})
	return sessions, restored, err
}

func (a *account) readable(raw []byte) []byte {
	session, err := a.c.decodeSession(raw)
	if err != nil {
		a.c.log.Warn("unreadable session ignored", "instance_id", a.instance, "error", err)
	}
	return session
}

// take reads sessions and moves those in the file past as many keys.
func (a *account) take(ctx context.Context, addresses []string, keys int) (sessions map[string][]byte, err error) {
	err = a.exclusively(ctx, func() (err error) {
		if sessions, err = a.sessions(ctx, addresses); err != nil {
			return err
		}
		rest := make(map[string][]byte, len(sessions))
		for address, session := range sessions {
			if after, err := moveAhead(session, keys); err == nil {
				rest[address] = a.c.encodeRestored(after)
			}
		}
		return a.writeSessions(ctx, rest)
	})
	return sessions, err
}

// writeSessions writes the changed sessions.
func (a *account) writeSessions(ctx context.Context, values map[string][]byte) error {
	for address, value := range values {
		known, err := a.get(ctx, sessionKey(address))
		if err == nil && bytes.Equal(known, value) {
			delete(values, address)
		}
	}
	if len(values) == 0 {
		return nil
	}
	return a.write(ctx, putSessions(values))
}

func putSessions(values map[string][]byte) func(access) error {
	return func(x access) error {
		for address, value := range values {
			if err := x.put(sessionKey(address), value); err != nil {
				return err
			}
		}
		return nil
	}
}

// PutSession implements [wastore.SessionStore].
func (a *account) PutSession(ctx context.Context, address string, session []byte) error {
	return a.exclusively(ctx, func() error { return a.put(ctx, map[string][]byte{address: session}) })
}

// PutManySessions is called before the messages that the sessions encrypted are sent.
// Inside [Container.Sending] it returns at once, and the sessions ride on the next
// commit.
func (a *account) PutManySessions(ctx context.Context, sessions map[string][]byte) error {
	s := sendingOf(ctx)
	if s == nil || a.overlayOf(ctx) != nil || len(sessions) == 0 {
		return a.exclusively(ctx, func() error { return a.put(ctx, sessions) })
	}
	values := make(map[string][]byte, len(sessions))
	for address, session := range sessions {
		values[address] = s.encode(a.c, address, session)
	}
	s.hold(a)
	defer s.release()
	s.left = a.flights
	if err := a.flights.launch(ctx, values, s.with(a.inTx(putSessions(values)))); err != nil {
		return fmt.Errorf("device of instance %d: %w", a.instance, err)
	}
	s.done()
	return nil
}

func (a *account) put(ctx context.Context, sessions map[string][]byte) error {
	values := make(map[string][]byte, len(sessions))
	for address, session := range sessions {
		known, restored, err := a.stored(ctx, []string{address})
		if err != nil {
			return err
		}
		if !a.moves(ctx) {
			session = joined(known[address], session)
		}
		switch {
		case session == nil:
		case len(restored) > 0:
			values[address] = a.c.encodeRestored(session)
		default:
			values[address] = a.c.encodeSession(session)
		}
	}
	return a.writeSessions(ctx, values)
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
