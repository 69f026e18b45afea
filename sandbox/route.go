package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

var errNotRouted = errors.New("no device is at this address")

// ackErrorOf is the code that refuses a message.
func ackErrorOf(err error) int {
	switch {
	case errors.Is(err, errNotInGroup), errors.Is(err, errAdminsOnly):
		return 403
	case errors.Is(err, ErrNoAccount), errors.Is(err, errNoGroup):
		return 404
	default:
		return 500
	}
}

// delivery is a stanza on its way to a phone; those to linked devices are queued at once.
// Phones are called without the server's mutex.
type delivery struct {
	phone *Phone
	node  waBinary.Node
}

// route takes a stanza as the device from sent it and gives it to the devices it is for.
func (s *Server) route(ctx context.Context, from types.JID, n waBinary.Node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	deliveries, err := s.dispatch(from, n)
	s.mu.Unlock()
	for _, d := range deliveries {
		d.phone.deliver(d.node)
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
		return nil, ErrNoAccount
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
		return nil, s.dispatchCall(sender, n)
	default:
		return nil, fmt.Errorf("stanza <%s>: %w", n.Tag, errNotRouted)
	}
}

// dispatchMessage fans a message out to the devices that it names, or to the one device it
// is addressed to.
func (s *Server) dispatchMessage(sender *account, from types.JID, n waBinary.Node) ([]delivery, error) {
	to := attrJID(&n, "to")
	switch {
	case to.Server == types.GroupServer:
		return s.dispatchGroupMessage(sender, from, n)
	case to == types.StatusBroadcastJID:
		return s.dispatchStatus(sender, from, n), nil
	}
	chat := s.accountOf(to.ToNonAD())
	if chat == nil {
		return nil, fmt.Errorf("message to %s: %w", to, ErrNoAccount)
	}
	participants, fanned := n.GetOptionalChildByTag("participants")
	if !fanned {
		return s.deliverTo(nil, chat, to.Device, s.messageFor(sender, from, chat, chat, n, directContent(n))), nil
	}
	var deliveries []delivery
	identity, hasIdentity := n.GetOptionalChildByTag("device-identity")
	for _, target := range participants.GetChildren() {
		jid := attrJID(&target, "jid")
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

func directContent(n waBinary.Node) []waBinary.Node {
	return slices.DeleteFunc(slices.Clone(n.GetChildren()), func(child waBinary.Node) bool {
		return child.Tag != "enc" && child.Tag != "device-identity" && child.Tag != "meta"
	})
}

// messageFor is the message as one account's devices see it.
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

// deliverTo queues a stanza for a linked device, or adds it to what phones will get. An
// unknown device is passed over: it was unlinked a moment ago.
func (s *Server) deliverTo(deliveries []delivery, a *account, id uint16, n waBinary.Node) []delivery {
	if id == 0 {
		return append(deliveries, delivery{s.phoneOf(a), n})
	}
	if d, ok := a.devices[id]; ok {
		s.enqueue(d, n)
	}
	return deliveries
}

// dispatchReceipt tells the other side. Receipts among an account's own devices end here;
// a retry receipt goes only to the device that has to send again.
func (s *Server) dispatchReceipt(sender *account, from types.JID, n waBinary.Node) ([]delivery, error) {
	to := attrJID(&n, "to")
	kind := attr(&n, "type")
	if kind == "sender" || kind == "peer_msg" || kind == "hist_sync" {
		return nil, nil
	}
	switch {
	case to.Server == types.GroupServer:
		return s.dispatchGroupReceipt(sender, from, n)
	case to == types.StatusBroadcastJID:
		return s.dispatchStatusReceipt(sender, from, n)
	}
	target := s.accountOf(to.ToNonAD())
	if target == nil {
		return nil, fmt.Errorf("receipt to %s: %w", to, ErrNoAccount)
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
	case target == sender && kind == "server-error": // a device asks its phone for a file
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

// addRecipient keeps the chat of an own message, which its sender needs to find it.
func (s *Server) addRecipient(out, n waBinary.Node) waBinary.Node {
	if recipient, ok := n.Attrs["recipient"]; ok {
		out.Attrs["recipient"] = recipient
	}
	return out
}

func (s *Server) dispatchPresence(sender *account, from types.JID, n waBinary.Node) error {
	switch attr(&n, "type") {
	case "subscribe":
		target := s.accountOf(attrJID(&n, "to").ToNonAD())
		d, ok := sender.devices[from.Device]
		if target == nil || !ok {
			return fmt.Errorf("subscribe to %s: %w", attrJID(&n, "to"), ErrNoAccount)
		}
		s.watch(d, target, attrJID(&n, "to").ToNonAD())
	case "available", "unavailable":
		if name := attr(&n, "name"); name != "" && name != sender.pushName {
			sender.pushName = name
			s.persist.account(sender)
		}
		s.setPresence(sender, attr(&n, "type") == "available")
	}
	return nil
}

// dispatchChatState reaches the phone and only those sessions that are there now, as in
// the real network.
func (s *Server) dispatchChatState(sender *account, n waBinary.Node) ([]delivery, error) {
	to := attrJID(&n, "to")
	if to.Server == types.GroupServer {
		return s.dispatchGroupState(sender, n)
	}
	target := s.accountOf(to.ToNonAD())
	if target == nil {
		return nil, fmt.Errorf("chat state to %s: %w", to, ErrNoAccount)
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

// staleHash is the hash of the device lists that a sender should have used, and empty when
// it used them: clients then fetch the lists again.
func (s *Server) staleHash(d *device, n waBinary.Node) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	participants, ok := n.GetOptionalChildByTag("participants")
	if to := attrJID(&n, "to"); ok && to.Server == types.GroupServer {
		return s.staleGroupHash(to, n)
	}
	chat := s.accountOf(attrJID(&n, "to").ToNonAD())
	if !ok || chat == nil {
		return ""
	}
	used := []types.JID{d.lid()}
	for _, target := range participants.GetChildren() {
		used = append(used, attrJID(&target, "jid"))
	}
	current := d.account.deviceList()
	if chat != d.account {
		current = append(current, chat.deviceList()...)
	}
	if hash := deviceHash(current); hash != deviceHash(used) {
		return hash
	}
	return ""
}

// deviceHash is the participant list hash, version 2.
func deviceHash(devices []types.JID) string {
	names := make([]string, 0, len(devices))
	for _, jid := range devices {
		names = append(names, jid.ADString())
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "")))
	return "2:" + base64.RawStdEncoding.EncodeToString(sum[:6])
}

// deviceList is the account's devices in LID form, device 0 first.
func (a *account) deviceList() []types.JID {
	list := []types.JID{a.lid}
	for _, d := range a.sorted() {
		list = append(list, d.lid())
	}
	return list
}
