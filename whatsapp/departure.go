package whatsapp

import (
	"context"

	waBinary "go.mau.fi/whatsmeow/binary"

	"postern/event"
)

// departing is a message that the library is about to give to the connection.
type departing struct {
	id   string
	left func()
}

// watchDeparture has out.Left called when the library writes the message, and returns
// the connection's life at this moment. One message at a time is watched, that whose turn it is.
func (s *Session) watchDeparture(out event.Outgoing) (life context.Context) {
	if out.Left == nil {
		return nil
	}
	s.leaving.Store(&departing{id: out.ID, left: out.Left})
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

// departed ends that, when the send has ended. The library repeats the bytes on another
// connection without a word: if there was one, the message may have left as late as now.
func (s *Session) departed(out event.Outgoing, life context.Context) {
	if out.Left == nil {
		return
	}
	s.leaving.Store(nil)
	s.mu.Lock()
	repeated := s.life != life
	s.mu.Unlock()
	if repeated {
		out.Left()
	}
}

// leaves takes every stanza that a client is about to write.
func (s *Session) leaves(n *waBinary.Node) {
	if n.Tag != "message" {
		return
	}
	if d := s.leaving.Load(); d != nil && attribute(n, "id") == d.id {
		d.left()
	}
}
