package sandbox

import (
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
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
	case iqKey{"status", "set", "status"}:
		return setAbout, true
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

// picture answers with the address of a picture: of the target, else the
// client's own.
func picture(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := attrJID(n, "target")
	id := ""
	if target.Server == types.GroupServer {
		id = s.groupPictures[target]
	} else if a := s.accountOf(target.ToNonAD()); a != nil {
		id = a.profile.Picture
	} else if target.IsEmpty() {
		id = d.account.profile.Picture
	}
	if id == "" {
		return waBinary.Node{}, errIQ{404, "item-not-found"}
	}
	asked := firstChild(n)
	if attr(&asked, "id") == id {
		return waBinary.Node{}, nil // the client has it
	}
	path := mediaPath(id)
	return waBinary.Node{Tag: "picture", Attrs: waBinary.Attrs{
		"id": id, "type": attr(&asked, "type"), "url": "https://" + mediaHost + path, "direct_path": path,
	}}, nil
}

// changePicture sets a picture of the client's account or of a group, or
// removes it when there is none in the request.
func changePicture(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	child := firstChild(n)
	data := content(child)
	id := ""
	if len(data) > 0 {
		id = s.media.put(slices.Clone(data))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if target := attrJID(n, "target"); target.Server == types.GroupServer {
		s.changeGroupPicture(d.account, target, id, nil)
	} else {
		s.changeOwnPicture(d.account, id, nil)
	}
	if id == "" {
		return waBinary.Node{}, nil
	}
	return waBinary.Node{Tag: "picture", Attrs: waBinary.Attrs{"id": id}}, nil
}

// changeOwnPicture tells the account's devices, and those of whom it is shown
// to. The caller holds s.mu.
func (s *Server) changeOwnPicture(a *account, id string, shown []*account) {
	a.profile.Picture = id
	s.persist.account(a)
	for _, to := range append([]*account{a}, shown...) {
		s.notify(to, "picture", a.lid, nil, pictureChange(a.lid, types.EmptyJID, id))
	}
}

func (s *Server) changeGroupPicture(by *account, group types.JID, id string, shown []*account) {
	s.groupPictures[group] = id
	for _, to := range append([]*account{by}, shown...) {
		s.notify(to, "picture", group, nil, pictureChange(group, by.lid, id))
	}
}

func pictureChange(of, author types.JID, id string) waBinary.Node {
	n := waBinary.Node{Tag: "set", Attrs: waBinary.Attrs{"jid": of, "id": id}}
	if id == "" {
		n = waBinary.Node{Tag: "delete", Attrs: waBinary.Attrs{"jid": of}}
	}
	if !author.IsEmpty() {
		n.Attrs["author"] = author
	}
	return n
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

func setAbout(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	child := firstChild(n)
	text := string(content(child))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeAbout(d.account, d, text)
	return waBinary.Node{}, nil
}

// changeAbout sets the text and tells the account's other devices. The caller
// holds s.mu.
func (s *Server) changeAbout(a *account, by *device, text string) {
	a.profile.About = &text
	s.persist.account(a)
	s.notifyOthers(a, by, "status", a.lid, waBinary.Node{Tag: "set", Content: []byte(text)})
}
