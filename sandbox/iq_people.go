package sandbox

import (
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
)

// peopleIQ answers requests about people: pictures, abouts, blocked contacts,
// privacy settings.
func peopleIQ(key iqKey) (iqHandler, bool) {
	switch key {
	case iqKey{"blocklist", "get", ""}:
		return blockList, true
	case iqKey{"blocklist", "set", "item"}:
		return changeBlockList, true
	case iqKey{"w:profile:picture", "get", "picture"}:
		return picture, true
	case iqKey{"w:profile:picture", "set", "picture"}, iqKey{"w:profile:picture", "set", ""}:
		return changePicture, true
	case iqKey{"privacy", "get", "privacy"}:
		return listPrivacy, true
	case iqKey{"privacy", "set", "privacy"}:
		return setPrivacy, true
	default:
		return nil, false
	}
}

func blockList(s *Server, _ *conn, d *device, _ *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blockListOf(d.account), nil
}

func (s *Server) blockListOf(a *account) waBinary.Node {
	items := make([]waBinary.Node, 0, len(a.profile.Blocked))
	for _, number := range a.profile.Blocked {
		if other := s.accountByNumber(number); other != nil {
			items = append(items, waBinary.Node{Tag: "item", Attrs: waBinary.Attrs{"jid": other.lid}})
		}
	}
	return waBinary.Node{Tag: "list", Attrs: waBinary.Attrs{"dhash": a.profile.blockHash()}, Content: items}
}

func changeBlockList(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	item := firstChild(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	target := s.accountOf(attrJID(&item, "jid").ToNonAD())
	action := attr(&item, "action")
	if target == nil || action != "block" && action != "unblock" {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.changeBlocked(d.account, target, d, action == "block")
	return s.blockListOf(d.account), nil
}

// changeBlocked blocks or unblocks and tells the account's other devices. The
// caller holds s.mu.
func (s *Server) changeBlocked(a, target *account, by *device, blocked bool) {
	before := a.profile.blockHash()
	a.profile.block(target.pn.User, blocked)
	s.persist.account(a)
	action := "unblock"
	if blocked {
		action = "block"
	}
	s.notifyOthers(a, by, "account_sync", a.pn, waBinary.Node{
		Tag:     "blocklist",
		Attrs:   waBinary.Attrs{"dhash": a.profile.blockHash(), "prev_dhash": before},
		Content: []waBinary.Node{{Tag: "item", Attrs: waBinary.Attrs{"jid": target.lid, "action": action}}},
	})
}

func listPrivacy(s *Server, _ *conn, d *device, _ *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var categories []waBinary.Node
	for _, setting := range privacySettings() {
		categories = append(categories, waBinary.Node{
			Tag: "category", Attrs: waBinary.Attrs{"name": setting.name, "value": d.account.profile.privacy(setting)},
		})
	}
	return waBinary.Node{Tag: "privacy", Content: categories}, nil
}

func setPrivacy(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	child := firstChild(n)
	category := firstChild(&child)
	name, value := attr(&category, "name"), attr(&category, "value")
	if !slices.Contains(privacyValues(name), value) {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changePrivacy(d.account, d, name, value)
	return waBinary.Node{}, nil
}

// changePrivacy sets a setting and tells the account's other devices. The
// caller holds s.mu.
func (s *Server) changePrivacy(a *account, by *device, name, value string) {
	if a.profile.Privacy == nil {
		a.profile.Privacy = map[string]string{}
	}
	a.profile.Privacy[name] = value
	s.persist.account(a)
	s.notifyOthers(a, by, "account_sync", a.pn, waBinary.Node{Tag: "privacy", Content: []waBinary.Node{
		{Tag: "category", Attrs: waBinary.Attrs{"name": name, "value": value}},
	}})
}

// changeAbout sets the text and tells the account's other devices. The caller
// holds s.mu.
func (s *Server) changeAbout(a *account, by *device, text string) {
	a.profile.About = &text
	s.persist.account(a)
	s.notifyOthers(a, by, "status", a.lid, waBinary.Node{Tag: "set", Content: []byte(text)})
}
