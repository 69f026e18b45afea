package network

import (
	"fmt"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
)

func (s *Server) dispatchPresence(sender *account, from types.JID, n waBinary.Node) error {
	switch wire.Attr(&n, "type") {
	case "subscribe":
		target := s.accountOf(wire.JID(&n, "to").ToNonAD())
		d, ok := sender.devices[from.Device]
		if target == nil || !ok {
			return fmt.Errorf("subscribe to %s: %w", wire.JID(&n, "to"), phone.ErrNoAccount)
		}
		s.watch(d, target, wire.JID(&n, "to").ToNonAD())
	case "available", "unavailable":
		if name := wire.Attr(&n, "name"); name != "" && name != sender.pushName {
			sender.pushName = name
			s.persist.account(sender)
		}
		s.setPresence(sender, wire.Attr(&n, "type") == "available")
	}
	return nil
}

// dispatchChatState reaches the phone and the sessions that are connected now, as in
// the real network.
func (s *Server) dispatchChatState(sender *account, n waBinary.Node) ([]delivery, error) {
	to := wire.JID(&n, "to")
	if to.Server == types.GroupServer {
		return s.dispatchGroupState(sender, n)
	}
	target := s.accountOf(to.ToNonAD())
	if target == nil {
		return nil, fmt.Errorf("chat state to %s: %w", to, phone.ErrNoAccount)
	}
	out := waBinary.Node{Tag: "chatstate", Content: n.Content, Attrs: waBinary.Attrs{
		"from": sender.lid, "sender_pn": sender.pn,
	}}
	for _, d := range target.devices {
		if d.conn != nil && d.active && target != sender {
			d.conn.send(out)
		}
	}
	if target == sender {
		return nil, nil
	}
	return s.deliverTo(nil, target, 0, out), nil
}

// watchSet maps a watching device to the address that it used.
type watchSet map[*device]types.JID

func (s *Server) watch(d *device, target *account, as types.JID) {
	set := s.watchers[target]
	if set == nil {
		set = watchSet{}
		s.watchers[target] = set
	}
	set[d] = as
	if target.presence.known && d.conn != nil {
		d.conn.send(presenceNode(as, target.presence))
	}
}

func (s *Server) dropWatches(d *device) {
	for target, set := range s.watchers {
		delete(set, d)
		if len(set) == 0 {
			delete(s.watchers, target)
		}
	}
}

func (s *Server) setPresence(a *account, online bool) {
	s.showPresence(a, presence{known: true, online: online, last: time.Now()})
}

func (s *Server) showPresence(a *account, p presence) {
	a.presence = p
	for d, as := range s.watchers[a] {
		if d.conn != nil && d.active {
			d.conn.send(presenceNode(as, a.presence))
		}
	}
}

// Available reports whether the account of a phone shows itself as available, and
// whether it has shown anything yet.
func (s *Server) Available(p *phone.Phone) (online, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accountOf(p.JID())
	if a == nil {
		return false, false
	}
	return a.presence.online, a.presence.known
}

// LastSeen returns when an account was last shown as available, zero if it never was.
func (s *Server) LastSeen(p *phone.Phone) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.accountOf(p.JID()); a != nil {
		return a.presence.last
	}
	return time.Time{}
}

// presenceTo sends a presence to devices without a subscription; those with one already
// have it.
func (s *Server) presenceTo(to, of *account) {
	for _, d := range to.sorted() {
		if _, asked := s.watchers[of][d]; !asked && d.conn != nil && d.active {
			d.conn.send(presenceNode(of.lid, of.presence))
		}
	}
}

// ShowPresence makes an account online or offline. last is the time to show when it
// goes offline, none if zero. Subscribers are notified, and to, unless it is empty.
// Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) ShowPresence(of, to types.JID, online bool, last time.Time) error {
	notified := !to.IsEmpty()
	if !notified {
		to = of
	}
	return s.both(of, to, func(from, to *account) {
		s.showPresence(from, presence{known: true, online: online, last: last})
		if notified {
			s.presenceTo(to, from)
		}
	})
}

// ShowChatState notifies an account's devices that another one types, records or stops,
// in the direct chat or in a group. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) ShowChatState(from, to, group types.JID, state waBinary.Node) error {
	return s.both(from, to, func(from, to *account) {
		attrs := waBinary.Attrs{"from": from.lid, "sender_pn": from.pn}
		if !group.IsEmpty() {
			attrs = waBinary.Attrs{"from": group, "participant": from.lid, "participant_pn": from.pn, "addressing_mode": "lid"}
		}
		s.sendNow(to, waBinary.Node{Tag: "chatstate", Attrs: attrs, Content: []waBinary.Node{state}})
	})
}

func presenceNode(from types.JID, p presence) waBinary.Node {
	n := waBinary.Node{Tag: "presence", Attrs: waBinary.Attrs{"from": from}}
	if !p.online {
		n.Attrs["type"] = "unavailable"
		n.Attrs["last"] = "deny"
		if !p.last.IsZero() {
			n.Attrs["last"] = p.last.Unix()
		}
	}
	return n
}
