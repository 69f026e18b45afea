package network

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/posts"
	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
)

var errNotRouted = errors.New("no device is at this address")

// ackErrorOf returns the code for a refused message.
func ackErrorOf(err error) int {
	switch {
	case errors.Is(err, errTimelocked):
		return timelockCode
	case errors.Is(err, posts.ErrInvalid), errors.Is(err, posts.ErrTooOld):
		return 400
	case errors.Is(err, ErrNotInGroup), errors.Is(err, ErrAdminsOnly):
		return 403
	case errors.Is(err, phone.ErrNoAccount), errors.Is(err, ErrNoGroup), errors.Is(err, posts.ErrNoPost):
		return 404
	default:
		return 500
	}
}

// delivery is a stanza for a phone; those for linked devices are queued at once. Phones
// are called without the server's mutex.
type delivery struct {
	phone *phone.Phone
	node  waBinary.Node
}

// Route delivers a stanza sent by the device from.
func (s *Server) Route(ctx context.Context, from types.JID, n waBinary.Node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	deliveries, err := s.dispatch(from, n)
	s.mu.Unlock()
	for _, d := range deliveries {
		d.phone.Deliver(d.node)
	}
	if err != nil {
		return fmt.Errorf("route <%s> from %s: %w", n.Tag, from, err)
	}
	return nil
}

func (s *Server) dispatch(from types.JID, n waBinary.Node) ([]delivery, error) {
	if s.closed {
		return nil, ErrClosed
	}
	sender := s.accountOf(from.ToNonAD())
	if sender == nil {
		return nil, phone.ErrNoAccount
	}
	switch n.Tag {
	case "message":
		return s.dispatchMessage(sender, from, n)
	case "receipt":
		return s.dispatchReceipt(sender, from, n)
	case "presence":
		return nil, s.dispatchPresence(sender, from, n)
	case "chatstate":
		return s.dispatchChatState(sender, n)
	case "call":
		return s.dispatchCall(sender, n)
	default:
		return nil, fmt.Errorf("stanza <%s>: %w", n.Tag, errNotRouted)
	}
}

// dispatchMessage sends a message to the devices that it names, or to the one device
// that it is addressed to.
func (s *Server) dispatchMessage(sender *account, from types.JID, n waBinary.Node) ([]delivery, error) {
	to := wire.JID(&n, "to")
	switch to.Server {
	case types.GroupServer:
		return s.dispatchGroupMessage(sender, from, n)
	case types.BroadcastServer:
		return s.dispatchBroadcast(sender, from, to, n), nil
	case types.NewsletterServer:
		return nil, s.dispatchPost(sender, from, to, n)
	}
	chat := s.accountOf(to.ToNonAD())
	if chat == nil {
		return nil, fmt.Errorf("message to %s: %w", to, phone.ErrNoAccount)
	}
	if err := lockedOut(sender, chat, &n); err != nil {
		return nil, err
	}
	s.wrote(sender, chat)
	participants, fanned := n.GetOptionalChildByTag("participants")
	if !fanned {
		return s.deliverTo(nil, chat, to.Device, s.messageFor(sender, from, chat, chat, n, directContent(n))), nil
	}
	var deliveries []delivery
	identity, hasIdentity := n.GetOptionalChildByTag("device-identity")
	for _, target := range participants.GetChildren() {
		jid := wire.JID(&target, "jid")
		a := s.accountOf(jid.ToNonAD())
		if a == nil || (a != chat && a != sender) {
			continue
		}
		inner := slices.Clone(target.GetChildren())
		if hasIdentity {
			inner = append(inner, identity)
		}
		inner = append(inner, n.GetChildrenByTag("meta")...)
		deliveries = s.deliverTo(deliveries, a, jid.Device, s.messageFor(sender, from, chat, a, n, inner))
	}
	return deliveries, nil
}

// SendUnavailable notifies an account's linked devices of a message that is withheld
// from them, for the reason of kind, such as "view_once". Errors: ErrClosed,
// phone.ErrNoAccount.
func (s *Server) SendUnavailable(from, to types.JID, id, kind string) error {
	return s.both(from, to, func(from, to *account) {
		s.queueForAll(to, waBinary.Node{
			Tag:     "message",
			Attrs:   waBinary.Attrs{"id": id, "from": from.lid, "sender_pn": from.pn, "type": "media", "t": time.Now().Unix(), "notify": from.pushName},
			Content: []waBinary.Node{{Tag: "unavailable", Attrs: waBinary.Attrs{"type": kind}}},
		})
	})
}

func directContent(n waBinary.Node) []waBinary.Node {
	return slices.DeleteFunc(slices.Clone(n.GetChildren()), func(child waBinary.Node) bool {
		return child.Tag != "enc" && child.Tag != "device-identity" && child.Tag != "meta"
	})
}

// messageFor returns the message for one account's devices.
func (s *Server) messageFor(sender *account, from types.JID, chat, target *account, n waBinary.Node, inner []waBinary.Node) waBinary.Node {
	fromLID := sender.deviceLID(from.Device)
	attrs := waBinary.Attrs{
		"id": n.Attrs["id"], "from": fromLID, "type": n.Attrs["type"], "t": time.Now().Unix(), "notify": sender.pushName,
	}
	for _, key := range []string{"category", "edit"} {
		if value, ok := n.Attrs[key]; ok {
			attrs[key] = value
		}
	}
	if v := sender.profile.businessNode(); v != nil {
		inner = append(slices.Clone(inner), *v)
	}
	if target != sender {
		attrs["sender_pn"] = sender.pn
	} else if attrs["category"] == nil {
		attrs["recipient"], attrs["peer_recipient_pn"] = chat.lid, chat.pn
	}
	return waBinary.Node{Tag: "message", Attrs: attrs, Content: inner}
}

// deliverTo queues a stanza for a linked device, or adds it to the deliveries for
// phones. An unknown device is skipped: it has just been unlinked.
func (s *Server) deliverTo(deliveries []delivery, a *account, id uint16, n waBinary.Node) []delivery {
	if id == 0 {
		return append(deliveries, delivery{s.phoneOf(a), n})
	}
	if d, ok := a.devices[id]; ok {
		s.enqueue(d, n)
	}
	return deliveries
}

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

// Call notifies an account of one stage of a call by another one, possibly in a group.
// The id is that of the call. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) Call(from, to types.JID, id string, group types.JID, stage waBinary.Node) error {
	return s.both(from, to, func(from, to *account) {
		stage.Attrs["call-id"], stage.Attrs["call-creator"], stage.Attrs["caller_pn"] = id, from.lid, from.pn
		if !group.IsEmpty() {
			stage.Attrs["group-jid"] = group
		}
		s.queueForAll(to, callNode(from, stage))
	})
}

// dispatchCall sends a stage of a call from a client to the other side's devices,
// including its phone. The caller holds s.mu.
func (s *Server) dispatchCall(sender *account, n waBinary.Node) ([]delivery, error) {
	to := s.accountOf(wire.JID(&n, "to").ToNonAD())
	stage := wire.FirstChild(&n)
	if to == nil || stage.Tag == "" {
		return nil, fmt.Errorf("call to %s: %w", wire.JID(&n, "to"), phone.ErrNoAccount)
	}
	out := callNode(sender, stage)
	s.queueForAll(to, out)
	return s.deliverTo(nil, to, 0, out), nil
}

func callNode(from *account, stage waBinary.Node) waBinary.Node {
	return waBinary.Node{Tag: "call", Content: []waBinary.Node{stage}, Attrs: waBinary.Attrs{
		"from": from.lid, "id": phone.MessageID(), "t": time.Now().Unix(), "platform": "android", "version": "2.26.1",
	}}
}
