package network

import (
	"fmt"
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// UnfitError is a change that does not fit the present state. It names the argument.
type UnfitError struct{ Argument, Problem string }

// Error implements error.
func (e *UnfitError) Error() string { return e.Argument + " " + e.Problem }

// NewGroup describes a group or community to create.
type NewGroup struct {
	Subject, Description string
	Members              []types.JID // without the creator
	Announce, Locked     bool
	Approval, Community  bool
	Ephemeral            uint32    // seconds
	MemberAdd            string    // empty: all members may add
	Parent               types.JID // its community; empty: none
}

// GroupUpdate is a change of a group by a member, and by the network; nil and empty
// fields change nothing.
type GroupUpdate struct {
	Subject, Description *string // an empty description removes it
	Announce, Locked     *bool
	Ephemeral            *uint32 // seconds; 0: never
	MemberAdd            *string
	Approval             *bool
	NewInvite            bool // the old link becomes invalid
	Suspended            *bool
	Link                 types.JID // the community that the group becomes part of
	Unlink               bool      // the group leaves its community
	Unknown              string    // the name of a change unknown to clients
	Delete               string    // the network deletes the group with this reason; done last
}

// inGroup calls fn for a group in which the rule allows the account to act, with s.mu
// held.
func (s *Server) inGroup(by, jid types.JID, may rule, fn func(g *group, by *account) error) error {
	return s.asAccount(by, func(by *account) error {
		g, err := s.allowed(by, jid, may)
		if err != nil {
			return err
		}
		return fn(g, by)
	})
}

// asAccount is with for functions with an error.
func (s *Server) asAccount(of types.JID, fn func(a *account) error) error {
	var result error
	if err := s.with(of, func(a *account) { result = fn(a) }); err != nil {
		return err
	}
	return result
}

// accountsOf returns the accounts of known addresses, each once.
func (s *Server) accountsOf(jids []types.JID) []*account {
	var accounts []*account
	for _, jid := range jids {
		if a := s.accountOf(jid.ToNonAD()); a != nil && !slices.Contains(accounts, a) {
			accounts = append(accounts, a)
		}
	}
	return accounts
}

// community returns a community of which an account is an admin; nil for an empty
// address.
func (s *Server) community(argument string, jid types.JID, by *account) (*group, error) {
	if jid.IsEmpty() {
		return nil, nil
	}
	g, err := s.allowed(by, jid, adminOnly)
	if err != nil {
		return nil, err
	}
	if !g.Community {
		return nil, &UnfitError{argument, "is not a community"}
	}
	return g, nil
}

// CreateGroup creates a group with the account as its creator, and notifies its
// members. Errors: ErrClosed, phone.ErrNoAccount, and, for the parent, ErrNoGroup,
// ErrNotInGroup, ErrAdminsOnly, UnfitError.
func (s *Server) CreateGroup(by types.JID, o NewGroup) (jid types.JID, invite string, err error) {
	err = s.asAccount(by, func(by *account) error {
		parent, err := s.community("parent", o.Parent, by)
		if err != nil {
			return err
		}
		g := s.createGroup(by, newGroup{
			subject: o.Subject, description: o.Description, members: s.accountsOf(o.Members), announce: o.Announce, locked: o.Locked,
			approval: o.Approval, community: o.Community, ephemeral: o.Ephemeral, memberAdd: o.MemberAdd, parent: parent,
		})
		jid, invite = g.jid, g.Invite
		return nil
	})
	return jid, invite, err
}

// GroupOfInvite returns the group of a current invite code; false if there is none.
func (s *Server) GroupOfInvite(code string) (jid types.JID, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.byInvite(code)
	if err != nil {
		return types.EmptyJID, false
	}
	return g.jid, true
}

// JoinGroup adds an account to any group, as by its link; waiting means that an admin
// must approve. Errors: ErrClosed, phone.ErrNoAccount, ErrNoGroup, and UnfitError if
// the group is full.
func (s *Server) JoinGroup(a, jid types.JID) (waiting bool, err error) {
	err = s.asAccount(a, func(a *account) error {
		g, ok := s.groups[jid.User]
		if !ok {
			return fmt.Errorf("%s: %w", jid, ErrNoGroup)
		}
		if !g.has(a) && len(g.Members) >= MaxMembers {
			return &UnfitError{"group", fmt.Sprintf("has %d members already", MaxMembers)}
		}
		waiting = s.joinByLink(g, a)
		return nil
	})
	return waiting, err
}

// LeaveGroup removes an account from a group. Errors: ErrClosed, phone.ErrNoAccount,
// ErrNoGroup, ErrNotInGroup.
func (s *Server) LeaveGroup(by, jid types.JID) error {
	return s.inGroup(by, jid, anyMember, func(g *group, by *account) error {
		s.removeMembers(g, by, []*account{by})
		return nil
	})
}

// ChangeMembers makes a change, "add", "remove", "promote" or "demote", for all
// accounts, or for none if one of them cannot be changed. Errors: ErrClosed,
// phone.ErrNoAccount, ErrNoGroup, ErrNotInGroup, ErrAdminsOnly, UnfitError.
func (s *Server) ChangeMembers(by, jid types.JID, action string, members []types.JID) error {
	may := adminOnly
	if action == "add" {
		may = mayAdd
	}
	return s.inGroup(by, jid, may, func(g *group, by *account) error {
		accounts := s.accountsOf(members)
		if err := g.fits(by, action, accounts); err != nil {
			return err
		}
		s.applyMembers(g, by, action, accounts)
		return nil
	})
}

func (g *group) fits(by *account, action string, accounts []*account) error {
	unfit := func(format string, args ...any) error {
		return &UnfitError{"participants", fmt.Sprintf(format, args...)}
	}
	for _, a := range accounts {
		if there := g.has(a); there == (action == "add") {
			return unfit("names %s: whether it is in the group already does not fit %s", a.pn.User, action)
		}
		if a != by && g.member(a) != nil && g.member(a).Role == roleCreator && action != "promote" {
			return unfit("names %s, who made the group", a.pn.User)
		}
	}
	if action == "add" && len(g.Members)+len(accounts) > MaxMembers {
		return unfit("would make the group larger than %d", MaxMembers)
	}
	return nil
}

// UpdateGroup makes each change of an update, or none if one is not allowed, and
// returns the code of the invite link. Changes by the network require only membership.
// Errors: ErrClosed, phone.ErrNoAccount, ErrNoGroup, ErrNotInGroup, ErrAdminsOnly,
// UnfitError.
func (s *Server) UpdateGroup(by, jid types.JID, u GroupUpdate) (invite string, err error) {
	err = s.inGroup(by, jid, u.may(), func(g *group, by *account) error {
		joins, leaves, err := s.links(g, by, u)
		if err != nil {
			return err
		}
		s.update(g, by, u)
		if leaves != nil {
			s.unlinkGroup(leaves, g, by)
		}
		if joins != nil {
			s.linkGroup(joins, g, by)
		}
		if invite = g.Invite; u.Delete != "" {
			s.deleteGroup(g, by, u.Delete)
		}
		return nil
	})
	return invite, err
}

// may returns the rule that the account must satisfy.
func (u *GroupUpdate) may() rule {
	if u.Announce != nil || u.Locked != nil || u.MemberAdd != nil || u.Approval != nil || u.NewInvite || !u.Link.IsEmpty() || u.Unlink {
		return adminOnly
	}
	if u.Subject != nil || u.Description != nil || u.Ephemeral != nil {
		return mayEdit
	}
	return anyMember
}

// links returns the communities that the group joins and leaves; nil for none.
func (s *Server) links(g *group, by *account, u GroupUpdate) (joins, leaves *group, err error) {
	if joins, err = s.community("link", u.Link, by); err != nil {
		return nil, nil, err
	}
	if joins != nil && (joins == g || g.Community) {
		return nil, nil, &UnfitError{"link", "is of a community, which cannot be part of another"}
	}
	if u.Unlink {
		if leaves = s.groups[g.Parent]; leaves == nil {
			return nil, nil, &UnfitError{"unlink", "is of a group that is in no community"}
		}
	}
	return joins, leaves, nil
}

func (s *Server) update(g *group, by *account, u GroupUpdate) {
	apply(u.Subject, func(v string) { s.setSubject(g, by, v) })
	apply(u.Description, func(v string) { s.setDescription(g, by, "", v) })
	apply(u.Announce, func(v bool) { s.setAnnounce(g, by, v) })
	apply(u.Locked, func(v bool) { s.setLocked(g, by, v) })
	apply(u.Ephemeral, func(v uint32) { s.setEphemeral(g, by, v) })
	apply(u.MemberAdd, func(v string) { s.setMemberAdd(g, by, v) })
	apply(u.Approval, func(v bool) { s.setApproval(g, by, v) })
	if u.NewInvite {
		s.resetInvite(g, by)
	}
	apply(u.Suspended, func(v bool) { s.setSuspended(g, by, v) })
	if u.Unknown != "" {
		s.announceChange(g, by, waBinary.Node{Tag: u.Unknown})
	}
}

// apply calls fn if the field is set.
func apply[T any](field *T, fn func(T)) {
	if field != nil {
		fn(*field)
	}
}
