package network

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/mediahost"
	"postern/sandbox/network/wire"
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
	case iqKey{"status", "set", "status"}:
		return setAbout, true
	case iqKey{"disappearing_mode", "set", "disappearing_mode"}:
		return setDefaultTimer, true
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

func changeBlockList(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	item := wire.FirstChild(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	target := s.accountOf(wire.JID(&item, "jid").ToNonAD())
	action := wire.Attr(&item, "action")
	if target == nil || action != "block" && action != "unblock" {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.changeBlocked(d.account, target, d, action == "block")
	return s.blockListOf(d.account), nil
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
	child := wire.FirstChild(n)
	category := wire.FirstChild(&child)
	name, value := wire.Attr(&category, "name"), wire.Attr(&category, "value")
	if !slices.Contains(PrivacyValues(name), value) {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changePrivacy(d.account, d, name, value)
	return waBinary.Node{}, nil
}

func setAbout(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeAbout(d.account, d, string(wire.Content(wire.FirstChild(n))))
	return waBinary.Node{}, nil
}

// setDefaultTimer notifies the account's other devices of the disappearing timer of new chats.
// Nothing here begins a chat by it.
func setDefaultTimer(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	mode := wire.FirstChild(n)
	if _, err := strconv.ParseUint(wire.Attr(&mode, "duration"), 10, 32); err != nil {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notifyOthers(d.account, d, "account_sync", d.account.pn, waBinary.Node{
		Tag: "disappearing_mode", Attrs: waBinary.Attrs{"duration": mode.Attrs["duration"], "t": time.Now().Unix()},
	})
	return waBinary.Node{}, nil
}

// statusPrivacy answers for whom the account's statuses are: for all contacts, whom clients know themselves, for
// all but some, or only for some.
func statusPrivacy(s *Server, _ *conn, d *device, _ *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &d.account.profile
	list := waBinary.Node{Tag: "list", Attrs: waBinary.Attrs{"type": cmp.Or(p.StatusType, "contacts"), "default": "true"}}
	var users []waBinary.Node
	for _, number := range p.StatusUsers {
		users = append(users, waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{"jid": types.NewJID(number, types.DefaultUserServer)}})
	}
	if users != nil {
		list.Content = users
	}
	return waBinary.Node{Tag: "privacy", Content: []waBinary.Node{list}}, nil
}

// picture returns the URL of a picture: of the target, else the client's own.
func picture(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := wire.JID(n, "target")
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
	asked := wire.FirstChild(n)
	if wire.Attr(&asked, "id") == id {
		return waBinary.Node{}, nil // the client has it
	}
	path := mediahost.Path(id)
	return waBinary.Node{Tag: "picture", Attrs: waBinary.Attrs{
		"id": id, "type": wire.Attr(&asked, "type"), "url": mediahost.URL(path), "direct_path": path,
	}}, nil
}

// changePicture sets a picture of the client's account or of a group, or removes it if
// the request has none.
func changePicture(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	child := wire.FirstChild(n)
	data := slices.Clone(wire.Content(child))
	if len(data) > 0 && !IsPicture(data) {
		return waBinary.Node{}, errIQ{406, "not-acceptable"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := ""
	if target := wire.JID(n, "target"); target.Server == types.GroupServer {
		id = s.changeGroupPicture(d.account, target, data, nil)
	} else {
		id = s.changeOwnPicture(d.account, data, nil)
	}
	if id == "" {
		return waBinary.Node{}, nil
	}
	return waBinary.Node{Tag: "picture", Attrs: waBinary.Attrs{"id": id}}, nil
}

// maxUsers is the largest look-up; clients request far fewer at a time.
const maxUsers = 10_000

// userSync looks up accounts: whether a number has one, its devices and its LID.
func userSync(s *Server, _ *conn, _ *device, n *waBinary.Node) (waBinary.Node, error) {
	request := wire.FirstChild(n)
	query, list := request.GetChildByTag("query"), request.GetChildByTag("list")
	asked := list.GetChildren()
	if len(asked) > maxUsers {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	users := make([]waBinary.Node, 0, len(asked))
	for _, user := range asked {
		if contact, ok := user.GetOptionalChildByTag("contact"); ok {
			users = append(users, s.contact(string(wire.Content(contact))))
		} else {
			users = append(users, s.user(wire.JID(&user, "jid"), query))
		}
	}
	attrs := waBinary.Attrs{"sid": request.Attrs["sid"], "mode": request.Attrs["mode"], "context": request.Attrs["context"]}
	return waBinary.Node{Tag: "usync", Attrs: attrs, Content: []waBinary.Node{
		{Tag: "result"}, {Tag: "list", Content: users},
	}}, nil
}

// contact reports whether a number, written as "+49..@c.us", is on the network.
func (s *Server) contact(asked string) waBinary.Node {
	number, _, _ := strings.Cut(asked, "@")
	number = strings.TrimPrefix(number, "+")
	found := waBinary.Node{Tag: "contact", Attrs: waBinary.Attrs{"type": "out"}, Content: []byte(asked)}
	user := waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{}}
	r, other := s.registered[number]
	a := r.account
	if !other {
		a = s.accountByNumber(number)
	}
	if a != nil {
		found.Attrs["type"] = "in"
		user.Attrs["pn_jid"] = a.pn
		if !r.noLID {
			user.Attrs["jid"] = a.lid
		}
	} else if digits(number) {
		user.Attrs["pn_jid"] = types.NewJID(number, types.DefaultUserServer)
	}
	parts := []waBinary.Node{found}
	if a != nil {
		parts = append(parts, a.profile.business()...)
	}
	user.Content = parts
	return user
}

// user answers each part of the query for one address.
func (s *Server) user(jid types.JID, query waBinary.Node) waBinary.Node {
	user := waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{"jid": jid}}
	a := s.accountOf(jid.ToNonAD())
	if a == nil {
		return user
	}
	var parts []waBinary.Node
	for _, part := range query.GetChildren() {
		switch part.Tag {
		case "devices":
			parts = append(parts, devicesNode(a))
		case "lid":
			parts = append(parts, waBinary.Node{Tag: "lid", Attrs: waBinary.Attrs{"val": a.lid}})
		case "status":
			parts = append(parts, waBinary.Node{Tag: "status", Attrs: waBinary.Attrs{"t": 0}, Content: []byte(a.profile.about())})
		case "picture":
			if a.profile.Picture != "" {
				parts = append(parts, waBinary.Node{Tag: "picture", Attrs: waBinary.Attrs{"id": a.profile.Picture}})
			}
		case "business":
			parts = append(parts, a.profile.business()...)
		}
	}
	user.Content = parts
	return user
}

func devicesNode(a *account) waBinary.Node {
	devices := []waBinary.Node{{Tag: "device", Attrs: waBinary.Attrs{"id": 0}}}
	for _, d := range a.sorted() {
		devices = append(devices, waBinary.Node{Tag: "device", Attrs: waBinary.Attrs{"id": int(d.id), "key-index": int(d.id)}})
	}
	return waBinary.Node{Tag: "devices", Content: []waBinary.Node{{Tag: "device-list", Content: devices}}}
}
