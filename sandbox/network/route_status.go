package network

import (
	"fmt"
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
)

// dispatchBroadcast sends a status, or a message to a broadcast list, to the devices
// that its sender names. The caller holds s.mu.
func (s *Server) dispatchBroadcast(sender *account, from, list types.JID, n waBinary.Node) []delivery {
	shared := directContent(n)
	var deliveries []delivery
	for device, own := range s.ownParts(n) {
		a := s.accountOf(device.ToNonAD())
		if a == nil || a == sender && device.Device == from.Device {
			continue
		}
		out := waBinary.Node{Tag: "message", Attrs: broadcastAttrs(sender, from, list), Content: slices.Concat(own, shared)}
		out.Attrs["id"], out.Attrs["type"], out.Attrs["notify"] = n.Attrs["id"], n.Attrs["type"], sender.pushName
		if edit, ok := n.Attrs["edit"]; ok {
			out.Attrs["edit"] = edit
		}
		deliveries = s.deliverTo(deliveries, a, device.Device, out)
	}
	return deliveries
}

func broadcastAttrs(sender *account, from, list types.JID) waBinary.Attrs {
	return waBinary.Attrs{
		"from": list, "participant": sender.deviceLID(from.Device), "participant_pn": sender.pn, "addressing_mode": "lid",
		"t": time.Now().Unix(),
	}
}

// dispatchBroadcastReceipt notifies the author of a status, or of a message to a list,
// of a recipient. The caller holds s.mu.
func (s *Server) dispatchBroadcastReceipt(reader *account, from, list types.JID, n waBinary.Node) ([]delivery, error) {
	participant := wire.JID(&n, "participant")
	author := s.accountOf(participant.ToNonAD())
	if author == nil {
		return nil, fmt.Errorf("receipt of a message of %s to %s: %w", participant, list, errNotRouted)
	}
	out := waBinary.Node{Tag: "receipt", Attrs: broadcastAttrs(reader, from, list), Content: n.Content}
	out.Attrs["id"] = n.Attrs["id"]
	kind := wire.Attr(&n, "type")
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
