package sandbox

import (
	"strconv"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
)

func preKeyCount(s *Server, _ *conn, d *device, _ *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return waBinary.Node{Tag: "count", Attrs: waBinary.Attrs{"value": strconv.Itoa(len(d.preKeys))}}, nil
}

// uploadKeys stores one-time pre-keys and the current signed one. The identity and the
// registration id are those of the pairing for ever.
func uploadKeys(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	list := n.GetChildByTag("list")
	added := make([]handset.PreKey, 0, len(list.GetChildren()))
	for _, child := range list.GetChildren() {
		key, ok := preKeyFrom(child)
		if !ok {
			return waBinary.Node{}, errIQ{400, "bad-request"}
		}
		added = append(added, key)
	}
	signed, ok := preKeyFrom(n.GetChildByTag("skey"))
	signature := content(n.GetChildByTag("skey", "signature"))
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

// giveKeys hands out one bundle for each device asked for.
func giveKeys(s *Server, _ *conn, _ *device, n *waBinary.Node) (waBinary.Node, error) {
	request := firstChild(n)
	asked := request.GetChildren()
	if len(asked) > maxUsers {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	users := make([]waBinary.Node, 0, len(asked))
	for _, user := range asked {
		jid := attrJID(&user, "jid")
		answer := waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{"jid": jid}}
		if b, ok := s.bundleOf(jid); ok {
			answer.Content = bundleNodes(b)
		} else {
			answer.Content = []waBinary.Node{{Tag: "error", Attrs: waBinary.Attrs{"code": "404", "text": "item-not-found"}}}
		}
		users = append(users, answer)
	}
	return waBinary.Node{Tag: "list", Content: users}, nil
}

// bundleOf gives out one pre-key of a device; a phone makes its own.
func (s *Server) bundleOf(dev types.JID) (handset.Bundle, bool) {
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

func phoneBundle(s *Server, p *Phone) (handset.Bundle, bool) {
	b, err := p.bundle()
	if err != nil {
		s.log.Error("a phone cannot give out keys", "number", p.Number(), "error", err)
		return handset.Bundle{}, false
	}
	return b, true
}

// lowPreKeys is when a device is told to upload more.
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
