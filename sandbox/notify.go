package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// notify queues a notification for every linked device of an account, until
// each has acknowledged it. The caller holds s.mu.
func (s *Server) notify(a *account, kind string, from types.JID, attrs waBinary.Attrs, children ...waBinary.Node) {
	n := notification(kind, from, children...)
	maps.Copy(n.Attrs, attrs)
	s.queueForAll(a, n)
}

// notifyOthers tells what one device changed to the account's other devices.
// The device is nil when the phone itself made the change.
func (s *Server) notifyOthers(a *account, by *device, kind string, from types.JID, children ...waBinary.Node) {
	n := notification(kind, from, children...)
	for _, d := range a.sorted() {
		if d != by {
			s.enqueue(d, n)
		}
	}
}

func notification(kind string, from types.JID, children ...waBinary.Node) waBinary.Node {
	return waBinary.Node{Tag: "notification", Content: children, Attrs: waBinary.Attrs{
		"from": from, "type": kind, "id": messageID(), "t": time.Now().Unix(),
	}}
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
		return fmt.Errorf("%s %.100q: %w", field, to, ErrNoAccount)
	}
	fn(from, other)
	return nil
}

// mex is notifyOthers of the kind whose content is JSON.
func (s *Server) mex(a *account, by *device, operation, key string, data any) {
	raw, err := json.Marshal(map[string]any{"data": map[string]any{key: data}})
	if err != nil {
		s.log.Error("a notification cannot be encoded", "operation", operation, "error", err)
		return
	}
	s.notifyOthers(a, by, "mex", types.ServerJID, waBinary.Node{
		Tag: "update", Attrs: waBinary.Attrs{"op_name": operation}, Content: raw,
	})
}
