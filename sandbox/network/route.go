package network

import (
	"context"
	"errors"
	"fmt"
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
