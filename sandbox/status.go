package sandbox

import (
	"fmt"
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// hasManyReaders tells whether what is sent to a chat is encrypted once, with its sender's
// key: to groups, and as a status.
func hasManyReaders(chat types.JID) bool {
	return chat.Server == types.GroupServer || chat == types.StatusBroadcastJID
}

// statusPrivacy says that everybody's status is for all of their contacts, whom clients
// know themselves.
func statusPrivacy(*Server, *conn, *device, *waBinary.Node) (waBinary.Node, error) {
	return waBinary.Node{Tag: "privacy", Content: []waBinary.Node{
		{Tag: "list", Attrs: waBinary.Attrs{"type": "contacts", "default": "true"}},
	}}, nil
}

// dispatchStatus gives a status to the devices that its sender names. The caller holds s.mu.
func (s *Server) dispatchStatus(sender *account, from types.JID, n waBinary.Node) []delivery {
	shared := directContent(n)
	var deliveries []delivery
	for device, own := range s.ownParts(n) {
		a := s.accountOf(device.ToNonAD())
		if a == nil || a == sender && device.Device == from.Device {
			continue
		}
		out := waBinary.Node{Tag: "message", Attrs: statusAttrs(sender, from), Content: slices.Concat(own, shared)}
		out.Attrs["id"], out.Attrs["type"], out.Attrs["notify"] = n.Attrs["id"], n.Attrs["type"], sender.pushName
		if edit, ok := n.Attrs["edit"]; ok {
			out.Attrs["edit"] = edit
		}
		deliveries = s.deliverTo(deliveries, a, device.Device, out)
	}
	return deliveries
}

func statusAttrs(sender *account, from types.JID) waBinary.Attrs {
	return waBinary.Attrs{
		"from": types.StatusBroadcastJID, "participant": sender.deviceLID(from.Device), "participant_pn": sender.pn,
		"t": time.Now().Unix(),
	}
}

// dispatchStatusReceipt tells the author of a status who got it. The caller holds s.mu.
func (s *Server) dispatchStatusReceipt(reader *account, from types.JID, n waBinary.Node) ([]delivery, error) {
	participant := attrJID(&n, "participant")
	author := s.accountOf(participant.ToNonAD())
	if author == nil {
		return nil, fmt.Errorf("receipt of a status of %s: %w", participant, errNotRouted)
	}
	out := waBinary.Node{Tag: "receipt", Attrs: statusAttrs(reader, from), Content: n.Content}
	out.Attrs["id"] = n.Attrs["id"]
	kind := attr(&n, "type")
	if kind != "" {
		out.Attrs["type"] = kind
	}
	switch {
	case kind == "retry":
		return s.deliverTo(nil, author, participant.Device, out), nil
	case author != reader:
		s.queueForAll(author, out)
	}
	return nil, nil
}
