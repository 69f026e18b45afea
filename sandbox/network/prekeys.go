package network

import (
	"encoding/binary"
	"strconv"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
	"postern/sandbox/phone"
)

// BundleOf uses up one pre-key of a device; a phone creates its own.
func (s *Server) BundleOf(dev types.JID) (handset.Bundle, bool) {
	s.mu.Lock()
	a := s.accountOf(dev.ToNonAD())
	if a == nil {
		s.mu.Unlock()
		return handset.Bundle{}, false
	}
	if dev.Device == 0 {
		p := s.phoneOf(a)
		s.mu.Unlock()
		return phoneBundle(s, p)
	}
	defer s.mu.Unlock()
	d, ok := a.devices[dev.Device]
	if !ok {
		return handset.Bundle{}, false
	}
	b, used := d.takeBundle()
	if used != nil {
		s.persist.usedPreKey(d, used.ID)
	}
	s.askForKeys(d)
	return b, true
}

func phoneBundle(s *Server, p *phone.Phone) (handset.Bundle, bool) {
	b, err := p.Bundle()
	if err != nil {
		s.log.Error("a phone cannot give out keys", "number", p.Number(), "error", err)
		return handset.Bundle{}, false
	}
	return b, true
}

// lowPreKeys is the number of pre-keys below which a device is asked to upload more.
const lowPreKeys = 5

func (s *Server) askForKeys(d *device) {
	if len(d.preKeys) != lowPreKeys-1 || d.conn == nil || !d.active {
		return
	}
	d.conn.send(waBinary.Node{
		Tag:     "notification",
		Attrs:   waBinary.Attrs{"type": "encrypt", "from": types.ServerJID, "id": s.requestID(), "t": strconv.FormatInt(d.linked.Unix(), 10)},
		Content: []waBinary.Node{{Tag: "count", Attrs: waBinary.Attrs{"value": strconv.Itoa(len(d.preKeys))}}},
	})
}

// bundleNodes is a bundle in a pre-key answer.
func bundleNodes(b handset.Bundle) []waBinary.Node {
	keys := handset.KeysNode(b)
	return append([]waBinary.Node{
		{Tag: "registration", Content: binary.BigEndian.AppendUint32(nil, b.RegistrationID)},
	}, keys.GetChildren()...)
}
