package network

import (
	"crypto/sha1" //nolint:gosec // the protocol's choice
	"encoding/binary"
	"strconv"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
)

func preKeyCount(s *Server, _ *conn, d *device, _ *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return waBinary.Node{Tag: "count", Attrs: waBinary.Attrs{"value": strconv.Itoa(len(d.preKeys))}}, nil
}

// uploadKeys stores one-time pre-keys and the current signed one. The identity and the
// registration id never change after the pairing.
func uploadKeys(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	list := n.GetChildByTag("list")
	added := make([]handset.PreKey, 0, len(list.GetChildren()))
	for _, child := range list.GetChildren() {
		key, ok := handset.PreKeyFrom(child)
		if !ok {
			return waBinary.Node{}, errIQ{400, "bad-request"}
		}
		added = append(added, key)
	}
	signed, ok := handset.PreKeyFrom(n.GetChildByTag("skey"))
	signature := wire.Content(n.GetChildByTag("skey", "signature"))
	if !ok || len(signature) != 64 {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(d.preKeys)+len(added) > maxPreKeys {
		return waBinary.Node{}, errIQ{406, "not-acceptable"}
	}
	d.keys.SignedPreKey, d.keys.Signature = signed, [64]byte(signature)
	d.preKeys = append(d.preKeys, added...)
	if d.account.devices[d.id] == d {
		s.persist.device(d)
	}
	return waBinary.Node{}, nil
}

// rotateKey stores a new signed pre-key.
func rotateKey(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	signed, ok := handset.PreKeyFrom(n.GetChildByTag("rotate", "skey"))
	signature := wire.Content(n.GetChildByTag("rotate", "skey", "signature"))
	if !ok || len(signature) != 64 {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d.keys.SignedPreKey, d.keys.Signature = signed, [64]byte(signature)
	if d.account.devices[d.id] == d {
		s.persist.device(d)
	}
	return waBinary.Node{}, nil
}

// keyDigest returns the keys that the server has of a device, for the device to compare: the
// hash covers the identity, the signed pre-key with its signature and the one-time pre-keys.
func keyDigest(s *Server, _ *conn, d *device, _ *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := sha1.New() //nolint:gosec // the protocol's choice
	for _, part := range [][]byte{d.keys.Identity[:], d.keys.SignedPreKey.Pub[:], d.keys.Signature[:]} {
		hash.Write(part)
	}
	ids := make([]waBinary.Node, 0, len(d.preKeys))
	for _, key := range d.preKeys {
		hash.Write(key.Pub[:])
		ids = append(ids, waBinary.Node{Tag: "id", Content: binary.BigEndian.AppendUint32(nil, key.ID)[1:]})
	}
	bundle := bundleNodes(handset.Bundle{
		RegistrationID: d.keys.Registration, Identity: d.keys.Identity,
		SignedPreKey: d.keys.SignedPreKey, SignedSignature: d.keys.Signature,
	})
	return waBinary.Node{Tag: "digest", Content: append(bundle,
		waBinary.Node{Tag: "list", Content: ids}, waBinary.Node{Tag: "hash", Content: hash.Sum(nil)})}, nil
}

// giveKeys returns one bundle for each requested device.
func giveKeys(s *Server, _ *conn, _ *device, n *waBinary.Node) (waBinary.Node, error) {
	request := wire.FirstChild(n)
	asked := request.GetChildren()
	if len(asked) > maxUsers {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	users := make([]waBinary.Node, 0, len(asked))
	for _, user := range asked {
		jid := wire.JID(&user, "jid")
		answer := waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{"jid": jid}}
		if b, ok := s.BundleOf(jid); ok {
			answer.Content = bundleNodes(b)
		} else {
			answer.Content = []waBinary.Node{{Tag: "error", Attrs: waBinary.Attrs{"code": "404", "text": "item-not-found"}}}
		}
		users = append(users, answer)
	}
	return waBinary.Node{Tag: "list", Content: users}, nil
}

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
