package device

import (
	"context"
	"maps"
	"slices"

	"postern/store"
)

// sending is one send of the library. It is used by one goroutine, as the
// library sends.
type sending struct {
	leaving func() error            // nil: nobody is to be told, or it was
	waiting []func(*store.Tx) error // writes for the next commit
	holds   *account                // whose ratchet is held
	spent   map[string][]byte       // sessions with spent states, and those whose current state is, by address
	left    *flights                // of the account whose message left; nil: none has
	ended   bool
}

type sendingKey struct{}

// sendingOf returns the send that ctx belongs to, or nil.
func sendingOf(ctx context.Context) *sending {
	s, _ := ctx.Value(sendingKey{}).(*sending)
	if s == nil || s.ended {
		return nil
	}
	return s
}

// Sending calls send with a context for one SendMessage of the library. In it
// the message that is kept for a retry, and its secret, wait for the sessions
// that encrypt it, and all of them go with the next commit, which they ask for
// when there is none for a second. They have their place in it before what asks
// for it: what is known of the message's fate is never in the file without them.
// What still waits at the end is of a message that needed no session; it is written
// then. leaving, unless it is nil, is called once, before the first of these writes:
// the library has come to this message then, and nothing of it has left. Its error
// ends the send.
func (c *Container) Sending(ctx context.Context, leaving func() error, send func(context.Context) error) error {
	s := &sending{leaving: leaving}
	err := s.run(ctx, send)
	ctx = context.WithoutCancel(ctx)
	if s.left != nil {
		if err := s.left.clear(ctx); err != nil {
			c.log.Warn("the sessions of a sent message are not in the file yet", "error", err)
		}
	}
	if err != nil || len(s.waiting) == 0 {
		return err
	}
	rest := s.with(func(*store.Tx) error { return nil })
	if err := c.store.Update(ctx, rest); err != nil {
		c.log.Warn("a sent message is not kept for a retry", "error", err)
	}
	return nil
}

func (s *sending) run(ctx context.Context, send func(context.Context) error) error {
	defer func() {
		s.ended = true
		s.release()
	}()
	return send(context.WithValue(ctx, sendingKey{}, s))
}

// leave tells that the message is about to leave.
func (s *sending) leave() error {
	if s == nil || s.leaving == nil {
		return nil
	}
	leaving := s.leaving
	s.leaving = nil
	return leaving()
}

// with returns what waits and then fn as one function.
func (s *sending) with(fn func(*store.Tx) error) func(*store.Tx) error {
	if s == nil || len(s.waiting) == 0 {
		return fn
	}
	all := append(slices.Clip(s.waiting), fn)
	return func(tx *store.Tx) error {
		for _, do := range all {
			if err := do(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// done forgets what waited: it is stored, or on its way.
func (s *sending) done() {
	if s != nil {
		s.waiting = nil
	}
}

// hold keeps decryptions and other sends from the account's sessions until
// release.
func (s *sending) hold(a *account) {
	if s.holds == nil {
		a.flights.ratchet.Lock()
		s.holds = a
	}
}

// restore notes sessions that may have spent states; the value is the session when it
// was given to nobody.
func (s *sending) restore(sessions map[string][]byte) {
	if s.spent == nil {
		s.spent = map[string][]byte{}
	}
	maps.Copy(s.spent, sessions)
}

// encode is a session as it is stored after the send.
func (s *sending) encode(c *Container, address string, session []byte) []byte {
	spent, restored := s.spent[address]
	switch {
	case spent != nil:
		return c.encodeRestored(atop(spent, session))
	case restored:
		return c.encodeRestored(session)
	}
	return c.encodeSession(session)
}

func (s *sending) release() {
	if s.holds != nil {
		s.holds.flights.ratchet.Unlock()
		s.holds = nil
	}
}
