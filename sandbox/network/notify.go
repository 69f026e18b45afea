package network

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/phone"
)

// notify queues a notification for every linked device of an account until each has
// acknowledged it. The caller holds s.mu.
func (s *Server) notify(a *account, kind string, from types.JID, attrs waBinary.Attrs, children ...waBinary.Node) {
	n := notification(kind, from, children...)
	maps.Copy(n.Attrs, attrs)
	s.queueForAll(a, n)
}

// notifyOthers notifies the account's other devices of a change by one device, nil for
// the phone itself.
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
		"from": from, "type": kind, "id": phone.MessageID(), "t": time.Now().Unix(),
	}}
}

// queueForAll queues a stanza for every linked device of an account.
func (s *Server) queueForAll(a *account, n waBinary.Node) {
	for _, d := range a.sorted() {
		s.enqueue(d, n)
	}
}

// sendNow sends only to connected devices. The caller holds s.mu.
func (s *Server) sendNow(a *account, n waBinary.Node) {
	for _, d := range a.sorted() {
		if d.conn != nil && d.active {
			d.conn.send(n)
		}
	}
}

// QueueForAll queues a stanza for every linked device of an account. Errors: ErrClosed,
// phone.ErrNoAccount.
func (s *Server) QueueForAll(of types.JID, n waBinary.Node) error {
	return s.with(of, func(a *account) { s.queueForAll(a, n) })
}

// with calls fn for an account, with s.mu held. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) with(of types.JID, fn func(a *account)) error {
	return s.both(of, of, func(a, _ *account) { fn(a) })
}

// both is with for two accounts, which may be the same.
func (s *Server) both(from, to types.JID, fn func(from, to *account)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	a, other := s.accountOf(from.ToNonAD()), s.accountOf(to.ToNonAD())
	if a == nil || other == nil {
		return phone.ErrNoAccount
	}
	fn(a, other)
	return nil
}

// mex is notifyOthers with JSON content.
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

func (s *Server) requestID() string {
	return "sbx-" + strconv.FormatUint(s.requests.Add(1), 10)
}
