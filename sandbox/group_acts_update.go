package sandbox

import (
	"context"
	"errors"
	"strings"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
)

type groupUpdateFields struct {
	Group            string  `json:"group" help:"the group, an address"`
	Subject          *string `json:"subject" help:"the new name, up to 100 characters"`
	Description      *string `json:"description" help:"the new description; empty removes it"`
	Announce         *bool   `json:"announce" help:"true: only admins write"`
	Locked           *bool   `json:"locked" help:"true: only admins change what is said about the group"`
	EphemeralSeconds *uint32 `json:"ephemeralSeconds" help:"after which messages disappear; 0: never"`
	MemberAddMode    *string `json:"memberAddMode" help:"admin_add or all_member_add"`
	JoinApproval     *bool   `json:"joinApproval" help:"true: admins approve who joins by the link"`
	InviteLink       bool    `json:"inviteLink" help:"true: a new link, the old one ends"`
	Suspended        *bool   `json:"suspended" help:"true: the network suspends the group"`
	Link             string  `json:"link" help:"the community that the group becomes part of, an address"`
	Unlink           bool    `json:"unlink" help:"true: the group leaves its community"`
	Unknown          string  `json:"unknown" help:"the name of a change that clients do not know"`
	Delete           string  `json:"delete" help:"the network ends the group, for this reason; done last"`
}

func (f *groupUpdateFields) check() error {
	if f.empty() {
		return invalidField("group", "is given, but no change")
	}
	var problems []error
	if f.Subject != nil {
		problems = append(problems, checkSubject(*f.Subject))
	}
	if f.Description != nil {
		problems = append(problems, checkDescription(*f.Description))
	}
	if f.MemberAddMode != nil {
		problems = append(problems, checkMemberAdd(*f.MemberAddMode))
	}
	if strings.Trim(f.Unknown, "abcdefghijklmnopqrstuvwxyz_") != "" {
		problems = append(problems, invalidField("unknown", "is not a word of a-z and _"))
	}
	return errors.Join(problems...)
}

func (f *groupUpdateFields) empty() bool {
	only := groupUpdateFields{Group: f.Group}
	return *f == only
}

// may tells what the phone's user has to be. What the network does asks for membership only.
func (f *groupUpdateFields) may() rule {
	if f.Announce != nil || f.Locked != nil || f.MemberAddMode != nil || f.JoinApproval != nil || f.InviteLink || f.Link != "" || f.Unlink {
		return adminOnly
	}
	if f.Subject != nil || f.Description != nil || f.EphemeralSeconds != nil {
		return mayEdit
	}
	return anyMember
}

func actGroupUpdate(_ context.Context, s *Server, p *Phone, f groupUpdateFields) (any, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	var code string
	result, err := s.onGroupOf(p, f.Group, f.may(), func(g *group, by *account) error {
		joins, leaves, err := s.links(g, by, f)
		if err != nil {
			return err
		}
		s.update(g, by, f)
		if leaves != nil {
			s.unlinkGroup(leaves, g, by)
		}
		if joins != nil {
			s.linkGroup(joins, g, by)
		}
		if code = g.Invite; f.Delete != "" {
			s.deleteGroup(g, by, f.Delete)
		}
		return nil
	})
	if updated, ok := result.(groupResult); ok && f.InviteLink {
		updated.InviteCode = code
		return updated, err
	}
	return result, err
}

// links finds the communities that the group joins and leaves; nil for none.
func (s *Server) links(g *group, by *account, f groupUpdateFields) (joins, leaves *group, err error) {
	if joins, err = s.community("link", f.Link, by); err != nil {
		return nil, nil, err
	}
	if joins != nil && (joins == g || g.Community) {
		return nil, nil, invalidField("link", "is of a community, which cannot be part of another")
	}
	if f.Unlink {
		if leaves = s.groups[g.Parent]; leaves == nil {
			return nil, nil, invalidField("unlink", "is of a group that is in no community")
		}
	}
	return joins, leaves, nil
}

func (s *Server) update(g *group, by *account, f groupUpdateFields) {
	apply(f.Subject, func(v string) { s.setSubject(g, by, v) })
	apply(f.Description, func(v string) { s.setDescription(g, by, "", v) })
	apply(f.Announce, func(v bool) { s.setAnnounce(g, by, v) })
	apply(f.Locked, func(v bool) { s.setLocked(g, by, v) })
	apply(f.EphemeralSeconds, func(v uint32) { s.setEphemeral(g, by, v) })
	apply(f.MemberAddMode, func(v string) { s.setMemberAdd(g, by, v) })
	apply(f.JoinApproval, func(v bool) { s.setApproval(g, by, v) })
	if f.InviteLink {
		s.resetInvite(g, by)
	}
	apply(f.Suspended, func(v bool) { s.setSuspended(g, by, v) })
	if f.Unknown != "" {
		s.announceChange(g, by, waBinary.Node{Tag: f.Unknown})
	}
}

// apply runs fn when the field was given.
func apply[T any](field *T, fn func(T)) {
	if field != nil {
		fn(*field)
	}
}

// trimInvite is the code of a link.
func trimInvite(text string) string { return strings.TrimPrefix(text, whatsmeow.InviteLinkPrefix) }
