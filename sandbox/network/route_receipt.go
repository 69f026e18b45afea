package network

import (
	"fmt"
	"maps"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
)

// dispatchReceipt notifies the other side. Receipts among an account's own devices end
// here; a retry receipt goes only to the device that must send again.
func (s *Server) dispatchReceipt(sender *account, from types.JID, n waBinary.Node) ([]delivery, error) {
	to := wire.JID(&n, "to")
	kind := wire.Attr(&n, "type")
	if s.faults.WithholdReceipts && (kind == "" || kind == "read" || kind == "played") {
		return nil, nil
	}
	if kind == "sender" || kind == "peer_msg" || kind == "hist_sync" {
		return nil, nil
	}
	switch to.Server {
	case types.GroupServer:
		return s.dispatchGroupReceipt(sender, from, n)
	case types.BroadcastServer:
		return s.dispatchBroadcastReceipt(sender, from, to, n)
	case types.NewsletterServer:
		return nil, s.dispatchViews(sender, to, n)
	}
	target := s.accountOf(to.ToNonAD())
	if target == nil {
		return nil, fmt.Errorf("receipt to %s: %w", to, phone.ErrNoAccount)
	}
	out := waBinary.Node{Tag: "receipt", Content: n.Content, Attrs: waBinary.Attrs{
		"id": n.Attrs["id"], "from": sender.deviceLID(from.Device), "t": time.Now().Unix(),
	}}
	if kind != "" {
		out.Attrs["type"] = kind
	}
	if kind == "retry" {
		return s.deliverTo(nil, target, to.Device, s.addRecipient(out, n)), nil
	}
	switch {
	case target == sender && kind == "server-error": // a device requests a file from its phone
		return s.deliverTo(nil, target, 0, out), nil
	case target == sender:
		return nil, nil
	}
	out.Attrs["sender_pn"] = sender.pn
	deliveries := s.deliverTo(nil, target, 0, out)
	for _, d := range target.sorted() {
		s.enqueue(d, out)
	}
	return deliveries, nil
}

// addRecipient adds the chat of an own message, which its sender needs to find it.
func (s *Server) addRecipient(out, n waBinary.Node) waBinary.Node {
	if recipient, ok := n.Attrs["recipient"]; ok {
		out.Attrs["recipient"] = recipient
	}
	return out
}

// PassReceipt sends an account's linked devices a receipt of another account: in the
// chat of the two, or in a group with both as members. Errors: ErrClosed,
// phone.ErrNoAccount, ErrNoGroup, ErrNotInGroup.
func (s *Server) PassReceipt(from, to, in types.JID, n waBinary.Node) (err error) {
	passed := s.both(from, to, func(from, to *account) {
		if !in.IsEmpty() {
			var g *group
			if g, err = s.groupOf(from, in); err == nil {
				_, err = s.groupOf(to, in)
			}
			if err != nil {
				err = fmt.Errorf("receipt: %w", err)
				return
			}
			delete(n.Attrs, "sender_pn")
			maps.Copy(n.Attrs, g.fromMember(from, 0))
		}
		s.queueForAll(to, n)
	})
	if passed != nil {
		return passed
	}
	return err
}
