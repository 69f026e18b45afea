package whatsapp

import (
	"context"

	waBinary "go.mau.fi/whatsmeow/binary"

	"postern/event"
)

// departing is a message that the library is about to write.
type departing struct {
	id   string
	left func()
}

// watchDeparture has out.Left called when the library writes the message, and returns
// the lifetime of the current connection. It watches one message at a time.
func (s *sender) watchDeparture(out event.Outgoing) (life context.Context) {
	if out.Left == nil {
		return nil
	}
	s.leaving.Store(&departing{id: out.ID, left: out.Left})
	return s.conn.lifetime()
}

// departed ends the watch when the send has ended. The library silently repeats a frame
// on another connection; if there was one, the message may have left as late as now.
func (s *sender) departed(life context.Context, out event.Outgoing) {
	if out.Left == nil {
		return
	}
	s.leaving.Store(nil)
	if s.conn.lifetime() != life {
		out.Left()
	}
}

// leaves handles every stanza that a client is about to write.
func (s *sender) leaves(n *waBinary.Node) {
	if n.Tag != "message" {
		return
	}
	if d := s.leaving.Load(); d != nil && n.Attrs["id"] == d.id {
		d.left()
	}
}
