package sandbox

import (
	"fmt"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// notify queues a notification for every linked device of an account, until
// each has acknowledged it. The caller holds s.mu.
func (s *Server) notify(a *account, kind string, from types.JID, attrs waBinary.Attrs, children ...waBinary.Node) {
	n := waBinary.Node{Tag: "notification", Content: children, Attrs: waBinary.Attrs{
		"from": from, "type": kind, "id": messageID(), "t": time.Now().Unix(),
	}}
	for key, value := range attrs {
		n.Attrs[key] = value
	}
	s.queueForAll(a, n)
}

// queueForAll queues a stanza for every linked device of an account.
func (s *Server) queueForAll(a *account, n waBinary.Node) {
	for _, d := range a.sorted() {
		s.enqueue(d, n)
	}
}

// sendNow reaches only the devices that are there. The caller holds s.mu.
func (s *Server) sendNow(a *account, n waBinary.Node) {
	for _, d := range a.sorted() {
		if d.conn != nil && d.active {
			d.conn.send(n)
		}
	}
}

// between runs fn with the accounts of a phone and of whom its act is for, and
// with s.mu held. to may be empty: both are the phone's then.
func (s *Server) between(p *Phone, field, to string, fn func(from, to *account)) error {
	target := p.JID()
	if to != "" {
		var err error
		if target, err = address(field, to); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	from, other := s.accountOf(p.JID()), s.accountOf(target)
	if from == nil || other == nil {
		return fmt.Errorf("%s %q: %w", field, to, ErrNoAccount)
	}
	fn(from, other)
	return nil
}
