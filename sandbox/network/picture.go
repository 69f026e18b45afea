package network

import (
	"bytes"
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// maxPicture is the largest picture, which is kept in memory and saved.
const maxPicture = 1 << 20

// IsPicture reports whether clients would show it: a JPEG of at most 1 MiB.
func IsPicture(data []byte) bool {
	return len(data) <= maxPicture && bytes.HasPrefix(data, []byte{0xFF, 0xD8})
}

// ChangePicture sets the picture of an account or of a group, which need not exist, or
// removes it without data. It notifies the devices that may see it, and those of to,
// which may be the account itself. The id is empty if there is no picture. Errors:
// ErrClosed, phone.ErrNoAccount.
func (s *Server) ChangePicture(of, group, to types.JID, data []byte) (id string, err error) {
	err = s.both(of, to, func(from, to *account) {
		var shown []*account
		if to != from {
			shown = append(shown, to)
		}
		if group.IsEmpty() {
			id = s.changeOwnPicture(from, data, shown)
		} else {
			id = s.changeGroupPicture(from, group, data, shown)
		}
	})
	return id, err
}

// changeOwnPicture sets or removes the picture and notifies the account's devices and
// those of its audience. The caller holds s.mu.
func (s *Server) changeOwnPicture(a *account, data []byte, shown []*account) (id string) {
	if len(data) > 0 {
		id = s.media.Put(data)
	}
	a.profile.Picture = id
	s.persist.account(a)
	s.persist.picture(a, data)
	s.notify(a, "account_sync", a.pn, nil, waBinary.Node{Tag: "picture"}) // it does not say which
	for _, to := range shown {
		s.notify(to, "picture", a.lid, nil, pictureChange(a.lid, types.EmptyJID, id))
	}
	return id
}

// changeGroupPicture is the same for a group, whose members are also notified. The
// group need not exist. The caller holds s.mu.
func (s *Server) changeGroupPicture(by *account, group types.JID, data []byte, shown []*account) (id string) {
	delete(s.groupPictures, group)
	if len(data) > 0 {
		id = s.media.Put(data)
		s.groupPictures[group] = id
	}
	notified := map[*account]bool{}
	for _, to := range slices.Concat([]*account{by}, shown, s.membersOf(group)) {
		if notified[to] {
			continue
		}
		notified[to] = true
		s.notify(to, "picture", group, nil, pictureChange(group, by.lid, id))
	}
	return id
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
