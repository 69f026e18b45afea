package device

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"postern/event"
	"postern/store"
)

// sending is one send of the library, which uses it from one goroutine.
type sending struct {
	leaving func() error            // nil: none, or already called
	waiting []func(*store.Tx) error // writes for the next commit
	holds   *account                // the account whose ratchet is held
	spent   map[string][]byte       // sessions with spent states by address, and those whose current state is spent
	left    *flights                // of the account whose message was sent; nil: none yet
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

// Sending calls send with a context for one SendMessage of the library. With that
// context, the message stored for a retry and its secret wait for the sessions that
// encrypt it. All of them ride on the next commit, which they request if there is none
// for a second. Their place in it is before what requests it: the file never contains
// the outcome of a message without them. What still waits at the end belongs to a
// message that needed no session; it is written then. leaving, unless it is nil, is
// called once before the first of these writes: the library has then reached this
// message, and sent nothing of it. Its error ends the send.
func (c *Container) Sending(ctx context.Context, leaving func() error, send func(context.Context) error) error {
	s := &sending{leaving: func() error { return c.mayLeave(leaving) }}
	err := s.run(ctx, send)
	ctx = context.WithoutCancel(ctx)
	if s.left != nil {
		if err := s.left.clear(ctx); err != nil {
			c.log.Warn("sessions of a sent message not stored yet", "error", err)
		}
	}
	if err != nil || len(s.waiting) == 0 {
		return err
	}
	rest := s.with(func(*store.Tx) error { return nil })
	if err := c.store.Update(ctx, rest); err != nil {
		c.log.Warn("sent message not stored for a retry", "error", err)
	}
	return nil
}

// mayLeave calls leaving, unless this process must no longer act on the file.
func (c *Container) mayLeave(leaving func() error) error {
	switch {
	case !c.store.Valid():
		return fmt.Errorf("%w: %w", event.ErrNotConnected, store.ErrFenced)
	case leaving == nil:
		return nil
	}
	return leaving()
}

func (s *sending) run(ctx context.Context, send func(context.Context) error) error {
	defer func() {
		s.ended = true
		s.release()
	}()
	return send(context.WithValue(ctx, sendingKey{}, s))
}

// leave calls leaving, once.
func (s *sending) leave() error {
	if s == nil || s.leaving == nil {
		return nil
	}
	leaving := s.leaving
	s.leaving = nil
	return leaving()
}

// Leave calls leaving of the send that ctx belongs to, for a stanza that the library does not store.
func Leave(ctx context.Context) error { return sendingOf(ctx).leave() }

// with combines the waiting writes and fn into one function.
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

// done forgets the waiting writes: they are stored or scheduled.
func (s *sending) done() {
	if s != nil {
		s.waiting = nil
	}
}

// hold excludes decryptions and other sends from the account's sessions until release.
func (s *sending) hold(a *account) {
	if s.holds == nil {
		a.flights.ratchet.Lock()
		s.holds = a
	}
}

// restore records sessions that may have spent states, with the session itself if it
// was not handed out.
func (s *sending) restore(sessions map[string][]byte) {
	if s.spent == nil {
		s.spent = map[string][]byte{}
	}
	maps.Copy(s.spent, sessions)
}

// encode returns a session in stored form after the send.
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
