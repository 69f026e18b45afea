package network

import (
	"bytes"
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/phone"
)

// ChangeAbout sets an account's about text, or removes it if the text is empty. The
// account's devices are notified, and those of to, which may be the account itself.
// Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) ChangeAbout(of, to types.JID, text string) error {
	return s.both(of, to, func(from, to *account) {
		s.changeAbout(from, nil, text)
		if to != from {
			s.notify(to, "status", from.lid, nil, waBinary.Node{Tag: "set", Content: []byte(text)})
		}
	})
}

// ReplacePhone moves an account to a new phone: it has new keys and no linked devices,
// and to is notified. Errors: ErrClosed, phone.ErrNoAccount, or those of key
// generation.
func (s *Server) ReplacePhone(of, to types.JID) error {
	var p *phone.Phone
	if err := s.both(of, to, func(from, _ *account) { p = s.phoneOf(from) }); err != nil {
		return err
	}
	if err := p.ReplaceKeys(); err != nil {
		return err
	}
	s.Unlink(p.Number())
	return s.both(of, to, func(from, to *account) {
		s.notify(to, "encrypt", from.lid, nil, waBinary.Node{Tag: "identity"})
	})
}

// Rename changes the displayed name; an empty one changes nothing. Errors: ErrClosed,
// phone.ErrNoAccount.
func (s *Server) Rename(of types.JID, name string) error {
	return s.with(of, func(a *account) {
		if name != "" {
			a.pushName = name
			s.phoneOf(a).Rename(name)
			s.persist.account(a)
		}
	})
}

// SetBusiness makes an account a business of this name. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) SetBusiness(of types.JID, name string) error {
	return s.with(of, func(a *account) {
		a.profile.Business = name
		s.persist.account(a)
	})
}

// AnnounceBlocklist notifies the account's devices that its block list changed, without
// the changes. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) AnnounceBlocklist(of types.JID) error {
	return s.with(of, func(a *account) {
		s.notify(a, "account_sync", a.pn, nil, waBinary.Node{
			Tag: "blocklist", Attrs: waBinary.Attrs{"action": "modify", "dhash": a.profile.blockHash()},
		})
	})
}

// ChangeBlocked blocks or unblocks a person. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) ChangeBlocked(of, target types.JID, blocked bool) error {
	return s.both(of, target, func(a, target *account) { s.changeBlocked(a, target, nil, blocked) })
}

// SetPrivacy changes a privacy setting to one of its PrivacyValues. Errors: ErrClosed,
// phone.ErrNoAccount.
func (s *Server) SetPrivacy(of types.JID, name, value string) error {
	return s.with(of, func(a *account) { s.changePrivacy(a, nil, name, value) })
}

// SetStatusPrivacy changes who sees the statuses of an account: contacts, blacklist or whitelist, with the numbers of
// the list. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) SetStatusPrivacy(of types.JID, kind string, numbers []string) error {
	return s.with(of, func(a *account) {
		a.profile.StatusType, a.profile.StatusUsers = kind, slices.Clone(numbers)
		s.persist.account(a)
	})
}

// changeBlocked blocks or unblocks and notifies the account's other devices. The caller
// holds s.mu.
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

// changePrivacy changes a setting and notifies the account's other devices. The caller
// holds s.mu.
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

// changeAbout sets the text and notifies the account's other devices. The caller holds
// s.mu.
func (s *Server) changeAbout(a *account, by *device, text string) {
	a.profile.About = &text
	s.persist.account(a)
	s.notifyOthers(a, by, "status", a.lid, waBinary.Node{Tag: "set", Content: []byte(text)})
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
