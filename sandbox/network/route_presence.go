package network

import (
	"fmt"

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
