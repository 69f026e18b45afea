package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// groupActs make and change groups.
func groupActs() []act {
	return []act{
		row("group-create", "the phone's user creates a group or community", actGroupCreate),
		row("group-join", "the phone's user joins a group, or adds one account to it", actGroupJoin),
		row("group-leave", "the phone's user leaves a group", actGroupLeave),
		row("group-update", "the phone's user changes a group; each field is a change of its own", actGroupUpdate),
		row("group-participants", "the phone's user adds, removes, promotes or demotes members", actGroupParticipants),
	}
}

type groupResult struct {
	Group      string `json:"group"`
	InviteCode string `json:"inviteCode,omitempty"`
	Waiting    bool   `json:"waiting,omitempty"`
}

type groupCreateFields struct {
	Subject          string   `json:"subject" help:"the name, up to 100 characters"`
	Participants     []string `json:"participants" help:"the other members: numbers or addresses"`
	Description      string   `json:"description" help:"the description"`
	Announce         bool     `json:"announce" help:"only admins can write"`
	Locked           bool     `json:"locked" help:"only admins can change the group info"`
	EphemeralSeconds uint32   `json:"ephemeralSeconds" help:"time until messages disappear; 0: never"`
	MemberAddMode    string   `json:"memberAddMode" help:"admin_add or all_member_add (default)"`
	JoinApproval     bool     `json:"joinApproval" help:"admins approve new members"`
	Community        bool     `json:"community" help:"create a community with a group for announcements"`
	Parent           string   `json:"parent" help:"the community that the group becomes part of, an address"`
}

func (f *groupCreateFields) check() error {
	switch {
	case f.Subject == "":
		return invalidField("subject", "is missing")
	case len(f.Participants) >= network.MaxMembers:
		return invalidField("participants", fmt.Sprintf("are %d or more", network.MaxMembers))
	case f.Community && f.Parent != "":
		return invalidField("parent", "cannot be given for a community")
	}
	if f.MemberAddMode == "" {
		f.MemberAddMode = string(types.GroupMemberAddModeAllMember)
	}
	return errors.Join(checkSubject(f.Subject), checkDescription(f.Description), checkMemberAdd(f.MemberAddMode))
}

func checkSubject(text string) error {
	if n := len([]rune(text)); n == 0 || n > network.MaxSubject {
		return invalidField("subject", fmt.Sprintf("has %d characters, has to have 1 to %d", n, network.MaxSubject))
	}
	return nil
}

func checkDescription(text string) error {
	if n := len([]rune(text)); n > network.MaxDescription {
		return invalidField("description", fmt.Sprintf("has %d characters, more than %d", n, network.MaxDescription))
	}
	return nil
}

func checkMemberAdd(mode string) error {
	if mode != string(types.GroupMemberAddModeAdmin) && mode != string(types.GroupMemberAddModeAllMember) {
		return invalidField("memberAddMode", "is neither admin_add nor all_member_add")
	}
	return nil
}

func actGroupCreate(_ context.Context, s *network.Server, p *phone.Phone, f groupCreateFields) (any, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	lids, err := members(s, "participants", f.Participants)
	if err != nil {
		return nil, err
	}
	parent, err := groupAddress("parent", f.Parent)
	if err != nil {
		return nil, err
	}
	jid, invite, err := s.CreateGroup(p.JID(), network.NewGroup{
		Subject: f.Subject, Description: f.Description, Members: lids, Announce: f.Announce, Locked: f.Locked,
		Approval: f.JoinApproval, Community: f.Community, Ephemeral: f.EphemeralSeconds, MemberAdd: f.MemberAddMode, Parent: parent,
	})
	if err != nil {
		return nil, err
	}
	return groupResult{Group: jid.String(), InviteCode: invite}, nil
}

type groupJoinFields struct {
	Group       string `json:"group" help:"the group, an address"`
	InviteCode  string `json:"inviteCode" help:"instead of group: join by the code or link"`
	Participant string `json:"participant" help:"the person to add, a number or an address; missing: the phone's user joins"`
}

// actGroupJoin lets the phone's user, if participant is missing, join any group as by
// its link; admins may have to approve.
func actGroupJoin(_ context.Context, s *network.Server, p *phone.Phone, f groupJoinFields) (any, error) {
	if f.Participant != "" {
		return actOnMembers(s, p, f.Group, "add", "participant", []string{f.Participant})
	}
	jid, err := toJoin(s, f)
	if err != nil {
		return nil, err
	}
	waiting, err := s.JoinGroup(p.JID(), jid)
	if err != nil {
		return nil, err
	}
	return groupResult{Group: jid.String(), Waiting: waiting}, nil
}

func toJoin(s *network.Server, f groupJoinFields) (types.JID, error) {
	if f.InviteCode == "" {
		return neededGroup(f.Group)
	}
	jid, ok := s.GroupOfInvite(trimInvite(f.InviteCode))
	if !ok {
		return types.EmptyJID, invalidField("inviteCode", "is not the present code of a group")
	}
	return jid, nil
}

// trimInvite returns the code of a link.
func trimInvite(text string) string { return strings.TrimPrefix(text, whatsmeow.InviteLinkPrefix) }

type groupLeaveFields struct {
	Group string `json:"group" help:"the group, an address"`
}

func actGroupLeave(_ context.Context, s *network.Server, p *phone.Phone, f groupLeaveFields) (any, error) {
	jid, err := neededGroup(f.Group)
	if err != nil {
		return nil, err
	}
	if err := s.LeaveGroup(p.JID(), jid); err != nil {
		return nil, err
	}
	return groupResult{Group: jid.String()}, nil
}

type groupParticipantsFields struct {
	Group        string   `json:"group" help:"the group, an address"`
	Action       string   `json:"action" help:"add, remove, promote or demote"`
	Participants []string `json:"participants" help:"numbers or addresses"`
}

func actGroupParticipants(_ context.Context, s *network.Server, p *phone.Phone, f groupParticipantsFields) (any, error) {
	switch f.Action {
	case "add", "remove", "promote", "demote":
	default:
		return nil, invalidField("action", "is not one of add, remove, promote, demote")
	}
	if len(f.Participants) == 0 {
		return nil, invalidField("participants", "are missing")
	}
	return actOnMembers(s, p, f.Group, f.Action, "participants", f.Participants)
}

// actOnMembers changes the accounts of a field.
func actOnMembers(s *network.Server, p *phone.Phone, group, action, field string, texts []string) (any, error) {
	jid, err := neededGroup(group)
	if err != nil {
		return nil, err
	}
	lids, err := members(s, field, texts)
	if err != nil {
		return nil, err
	}
	err = s.ChangeMembers(p.JID(), jid, action, lids)
	if unfit, ok := errors.AsType[*network.UnfitError](err); ok {
		return nil, invalidField(field, unfit.Problem)
	}
	if err != nil {
		return nil, err
	}
	return groupResult{Group: jid.String()}, nil
}
