package network

import (
	"fmt"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/posts"
	"postern/sandbox/network/wire"
)

// dispatchPost handles what a client sends to a channel: a reaction, which anybody may give, or a
// post, its new form or its deletion by the owner or an admin. The caller holds s.mu.
func (s *Server) dispatchPost(sender *account, from, to types.JID, n waBinary.Node) error {
	kind, edit := wire.Attr(&n, "type"), types.EditAttribute(wire.Attr(&n, "edit"))
	if kind == "reaction" {
		return s.react(sender, to, n)
	}
	if role := sender.role(to); role != types.NewsletterRoleOwner && role != types.NewsletterRoleAdmin {
		return fmt.Errorf("a %s of channel %s posts: %w", role, to, ErrAdminsOnly)
	}
	if edit == types.EditAttributeAdminRevoke {
		p, err := s.posts.Delete(to.User, wire.Attr(&n, "id"))
		return s.spread(sender, from, to, p, err)
	}
	draft, err := posts.Read(&n, s.media)
	if err != nil {
		return err
	}
	p, twice := s.posts.Find(to.User, draft.ID)
	if twice == nil && edit == types.EditAttributeEmpty { // the client repeats it on another connection
		return nil
	}
	switch edit {
	case types.EditAttributeEmpty:
		p, err = s.posts.Publish(to.User, draft)
	case types.EditAttributeAdminEdit:
		p, err = s.posts.Edit(to.User, draft.ID, draft.Plaintext)
	default:
		err = fmt.Errorf("edit %q: %w", edit, posts.ErrInvalid)
	}
	return s.spread(sender, from, to, p, err)
}

// react keeps a reaction, or removes it. Its number is in the stanza.
func (s *Server) react(sender *account, to types.JID, n waBinary.Node) error {
	child, ok := n.GetOptionalChildByTag("reaction")
	number := n.AttrGetter()
	serverID, emoji := number.Int("server_id"), wire.Attr(&child, "code")
	removes := types.EditAttribute(wire.Attr(&n, "edit")) == types.EditAttributeSenderRevoke
	if !ok || !number.OK() || removes != (emoji == "") {
		return fmt.Errorf("reaction to post %d: %w", serverID, posts.ErrInvalid)
	}
	return s.posts.React(to.User, serverID, sender.pn.User, emoji)
}

// spread sends a post to the linked devices of all followers, but the one that it came from. Phones get
// none.
func (s *Server) spread(sender *account, from, channel types.JID, p *posts.Post, err error) error {
	if err != nil {
		return err
	}
	for _, a := range s.byPN {
		if !a.follows(channel) && a != sender {
			continue
		}
		for _, d := range a.sorted() {
			if a != sender || d.id != from.Device {
				s.enqueue(d, p.Message(channel))
			}
		}
	}
	return nil
}

// dispatchViews counts the posts that an account saw. Of other receipts nothing becomes known. The caller holds
// s.mu.
func (s *Server) dispatchViews(reader *account, channel types.JID, n waBinary.Node) error {
	if wire.Attr(&n, "type") != "view" {
		return nil
	}
	list := n.GetChildByTag("list")
	for _, item := range list.GetChildren() {
		if err := s.posts.View(channel.User, item.AttrGetter().Int("server_id"), reader.pn.User); err != nil {
			return err
		}
	}
	return nil
}

// serverID returns the number of a post, 0 if there is none.
func (s *Server) serverID(channel types.JID, id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, err := s.posts.Find(channel.User, id); err == nil {
		return p.ServerID
	}
	return 0
}

// Publish has a channel publish a post, for its followers and an account. Errors: ErrClosed,
// phone.ErrNoAccount.
func (s *Server) Publish(of, channel types.JID, p posts.Post) (made posts.Post, err error) {
	closed := s.with(of, func(a *account) {
		var added *posts.Post
		if added, err = s.posts.Publish(channel.User, p); err == nil {
			made, err = *added, s.spread(a, types.EmptyJID, channel, added, nil)
		}
	})
	if closed != nil {
		return made, closed
	}
	return made, err
}

// EditPost edits a post of a channel. One that the channel does not have reaches its followers all the same,
// as to those that were not there yet. Errors: ErrClosed, phone.ErrNoAccount, posts.ErrTooOld.
func (s *Server) EditPost(of, channel types.JID, p posts.Post) (err error) {
	closed := s.with(of, func(a *account) {
		changed, failed := s.posts.Edit(channel.User, p.ID, p.Plaintext)
		if failed != nil {
			changed, failed = posts.Unknown(p), nil
		}
		err = s.spread(a, types.EmptyJID, channel, changed, failed)
	})
	if closed != nil {
		return closed
	}
	return err
}

// DeletePost deletes a post of a channel. Errors: ErrClosed, phone.ErrNoAccount, posts.ErrNoPost.
func (s *Server) DeletePost(of, channel types.JID, id string) (err error) {
	closed := s.with(of, func(a *account) {
		p, failed := s.posts.Delete(channel.User, id)
		err = s.spread(a, types.EmptyJID, channel, p, failed)
	})
	if closed != nil {
		return closed
	}
	return err
}

// ReactToPost sets an account's reaction to a post; an empty one removes it. Errors: ErrClosed,
// phone.ErrNoAccount, posts.ErrNoPost.
func (s *Server) ReactToPost(of, channel types.JID, serverID int, emoji string) (err error) {
	closed := s.with(of, func(a *account) { err = s.posts.React(channel.User, serverID, a.pn.User, emoji) })
	if closed != nil {
		return closed
	}
	return err
}

// ViewPosts returns the posts of a channel, newest first, and counts an account among those who saw them.
// Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) ViewPosts(of, channel types.JID) (all []posts.Post, err error) {
	closed := s.with(of, func(a *account) {
		for _, p := range s.posts.List(channel.User, 0, posts.MaxCount) {
			if err = s.posts.View(channel.User, p.ServerID, a.pn.User); err != nil {
				return
			}
			all = append([]posts.Post{*p}, all...)
		}
	})
	if closed != nil {
		return nil, closed
	}
	return all, err
}
