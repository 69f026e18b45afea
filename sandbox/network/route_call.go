package network

import (
	"fmt"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
)

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
