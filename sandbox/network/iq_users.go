package network

import (
	"strings"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
)

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
