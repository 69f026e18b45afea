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
func (s *sender) watchDeparture(out event.Outgoing) (life context.Context) {
	if out.Left == nil {
		return nil
	}
	s.leaving.Store(&departing{id: out.ID, left: out.Left})
	return s.conn.lifetime()
}

// departed ends that, when the send has ended. The library repeats the bytes on another
// connection without a word: if there was one, the message may have left as late as now.
func (s *sender) departed(out event.Outgoing, life context.Context) {
	if out.Left == nil {
		return
	}
	s.leaving.Store(nil)
	if s.conn.lifetime() != life {
		out.Left()
	}
}

// leaves takes every stanza that a client is about to write.
func (s *sender) leaves(n *waBinary.Node) {
	if n.Tag != "message" {
		return
	}
	if d := s.leaving.Load(); d != nil && attribute(n, "id") == d.id {
		d.left()
	}
}
