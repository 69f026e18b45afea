package sandbox

import (
	"context"
	"errors"
	"strings"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

type groupUpdateFields struct {
	Group            string  `json:"group" help:"the group, an address"`
	Subject          *string `json:"subject" help:"the new name, up to 100 characters"`
	Description      *string `json:"description" help:"the new description; empty removes it"`
	Announce         *bool   `json:"announce" help:"true: only admins can write"`
	Locked           *bool   `json:"locked" help:"true: only admins can change the group info"`
	EphemeralSeconds *uint32 `json:"ephemeralSeconds" help:"time until messages disappear; 0: never"`
	MemberAddMode    *string `json:"memberAddMode" help:"admin_add or all_member_add"`
	JoinApproval     *bool   `json:"joinApproval" help:"true: admins approve new members"`
	InviteLink       bool    `json:"inviteLink" help:"true: create a new link; the old one becomes invalid"`
	Suspended        *bool   `json:"suspended" help:"true: the network suspends the group"`
	Link             string  `json:"link" help:"the community that the group becomes part of, an address"`
	Unlink           bool    `json:"unlink" help:"true: the group leaves its community"`
	Unknown          string  `json:"unknown" help:"the name of a change unknown to clients"`
	Delete           string  `json:"delete" help:"the network deletes the group, with this reason; done last"`
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

func actGroupUpdate(_ context.Context, s *network.Server, p *phone.Phone, f groupUpdateFields) (any, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	jid, err := neededGroup(f.Group)
	if err != nil {
		return nil, err
	}
	link, err := groupAddress("link", f.Link)
	if err != nil {
		return nil, err
	}
	invite, err := s.UpdateGroup(p.JID(), jid, network.GroupUpdate{
		Subject: f.Subject, Description: f.Description, Announce: f.Announce, Locked: f.Locked, Ephemeral: f.EphemeralSeconds,
		MemberAdd: f.MemberAddMode, Approval: f.JoinApproval, NewInvite: f.InviteLink, Suspended: f.Suspended,
		Link: link, Unlink: f.Unlink, Unknown: f.Unknown, Delete: f.Delete,
	})
	if err != nil {
		return nil, err
	}
	result := groupResult{Group: jid.String()}
	if f.InviteLink {
		result.InviteCode = invite
	}
	return result, nil
}
