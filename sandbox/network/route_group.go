package network

import (
	"fmt"
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
)

// dispatchGroupMessage sends a message to every device of every member but the sending
// one: the common ciphertext, and the one for that device. A message for one
// participant, as in a retry, goes only there. The caller holds s.mu.
func (s *Server) dispatchGroupMessage(sender *account, from types.JID, n waBinary.Node) ([]delivery, error) {
	g, err := s.allowed(sender, wire.JID(&n, "to"), mayWrite(n.Attrs["type"] == "reaction"))
	if err != nil {
		return nil, err
	}
	shared := directContent(n)
	if target := wire.JID(&n, "participant"); !target.IsEmpty() {
		a := s.accountOf(target.ToNonAD())
		if a == nil || !g.has(a) {
			return nil, fmt.Errorf("message to %s in %s: %w", target, g.jid, errNotRouted)
		}
		return s.deliverTo(nil, a, target.Device, s.groupMessage(g, sender, from, n, shared)), nil
	}
	own := s.ownParts(n)
	var deliveries []delivery
	for _, a := range s.membersOf(g.jid) {
		for _, device := range a.deviceList() {
			if a == sender && device.Device == from.Device {
				continue
			}
			content := slices.Concat(own[device], shared)
			deliveries = s.deliverTo(deliveries, a, device.Device, s.groupMessage(g, sender, from, n, content))
		}
	}
	return deliveries, nil
}

// mayWrite is the rule for messages; a suspended group accepts none. Every member may react to the
// announcements of a community.
func mayWrite(reaction bool) func(g *group, a *account) bool {
	return func(g *group, a *account) bool {
		return !g.Suspended && (!g.Announce || g.isAdmin(a) || reaction && g.Default)
	}
}

// ownParts are the parts of a message that are for one device each.
func (s *Server) ownParts(n waBinary.Node) map[types.JID][]waBinary.Node {
	parts := map[types.JID][]waBinary.Node{}
	participants := n.GetChildByTag("participants")
	for _, target := range participants.GetChildren() {
		jid := wire.JID(&target, "jid")
		if a := s.accountOf(jid.ToNonAD()); a != nil {
			parts[a.deviceLID(jid.Device)] = target.GetChildren()
		}
	}
	return parts
}

// fromMember sets the sender of a stanza to a member in a group.
func (g *group) fromMember(a *account, device uint16) waBinary.Attrs {
	return waBinary.Attrs{
		"from": g.jid, "participant": a.deviceLID(device), "participant_pn": a.pn,
		"addressing_mode": "lid", "t": time.Now().Unix(),
	}
}

func (s *Server) groupMessage(g *group, sender *account, from types.JID, n waBinary.Node, content []waBinary.Node) waBinary.Node {
	attrs := g.fromMember(sender, from.Device)
	attrs["id"], attrs["type"], attrs["notify"] = n.Attrs["id"], n.Attrs["type"], sender.pushName
	if edit, ok := n.Attrs["edit"]; ok {
		attrs["edit"] = edit
	}
	if v := sender.profile.businessNode(); v != nil {
		content = append(slices.Clone(content), *v)
	}
	return waBinary.Node{Tag: "message", Attrs: attrs, Content: content}
}

// dispatchGroupReceipt notifies the author of a message, the receipt's participant.
// Former members may still report earlier messages. The caller holds s.mu.
func (s *Server) dispatchGroupReceipt(sender *account, from types.JID, n waBinary.Node) ([]delivery, error) {
	to, author := wire.JID(&n, "to"), wire.JID(&n, "participant")
	g, ok := s.groups[to.User]
	if !ok {
		return nil, fmt.Errorf("receipt to %s: %w", to, ErrNoGroup)
	}
	target := s.accountOf(author.ToNonAD())
	if target == nil {
		return nil, fmt.Errorf("receipt for %s in %s: %w", author, to, errNotRouted)
	}
	out := waBinary.Node{Tag: "receipt", Attrs: g.fromMember(sender, from.Device), Content: n.Content}
	out.Attrs["id"] = n.Attrs["id"]
	kind := wire.Attr(&n, "type")
	if kind != "" {
		out.Attrs["type"] = kind
	}
	if kind == "retry" {
		return s.deliverTo(nil, target, author.Device, out), nil
	}
	if target == sender {
		return nil, nil
	}
	s.queueForAll(target, out)
	return s.deliverTo(nil, target, 0, out), nil
}

// dispatchGroupState shows connected members that another one is typing.
func (s *Server) dispatchGroupState(sender *account, n waBinary.Node) (deliveries []delivery, err error) {
	g, err := s.groupOf(sender, wire.JID(&n, "to"))
	if err != nil {
		return nil, err
	}
	attrs := g.fromMember(sender, 0)
	delete(attrs, "t")
	for _, a := range s.membersOf(g.jid) {
		if a != sender {
			out := waBinary.Node{Tag: "chatstate", Attrs: attrs, Content: n.Content}
			s.sendNow(a, out)
			deliveries = s.deliverTo(deliveries, a, 0, out)
		}
	}
	return deliveries, nil
}
