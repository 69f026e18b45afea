package device

import (
	"context"

	"postern/store"
)

// sending holds what one send of the library let wait. It is used by one
// goroutine, as the library sends.
type sending struct {
	waiting []func(*store.Tx) error
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

// wait keeps fn for the next commit. fn may run twice.
func (s *sending) wait(fn func(*store.Tx) error) { s.waiting = append(s.waiting, fn) }

// commit does what waits and then fn in one transaction. When that fails, all
// of it goes on waiting. A nil s has nothing that waits.
func (s *sending) commit(ctx context.Context, st *store.Store, fn func(*store.Tx) error) error {
	if s == nil {
		return st.Update(ctx, fn)
	}
	err := st.Update(ctx, func(tx *store.Tx) error {
		for _, w := range s.waiting {
			if err := w(tx); err != nil {
				return err
			}
		}
		return fn(tx)
	})
	if err == nil {
		s.waiting = nil
	}
	return err
}

// Sending calls send with a context for one SendMessage of the library. In it
// the message that is kept for a retry, and its secret, wait for the sessions
// that encrypt it: those have to be on disk before it leaves, and one commit
// has them all. What still waits at the end is of a message that needed no
// session; it is written then.
func (c *Container) Sending(ctx context.Context, send func(context.Context) error) error {
	s := &sending{}
	err := send(context.WithValue(ctx, sendingKey{}, s))
	s.ended = true
	if err != nil || len(s.waiting) == 0 {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.commit(ctx, c.store, func(*store.Tx) error { return nil }); err != nil {
		c.log.Warn("a sent message is not kept for a retry", "error", err)
	}
	return nil
}
