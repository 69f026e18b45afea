package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/whatsapp/translate"
)

// Groups acts on groups. It implements instance.Groups.
type Groups struct {
	calls *calls
	facts *reporter
}

// view returns a group as group events show it.
func (gs *Groups) view(cli *whatsmeow.Client, g *types.GroupInfo) event.GroupUpsert {
	return gs.calls.conn.translator(cli).Joined(&events.JoinedGroup{GroupInfo: *g})
}

// CreateGroup implements instance.Groups. WhatsApp accepts no description for a new
// group, so it is set afterwards; if that fails, the group stays.
func (gs *Groups) CreateGroup(ctx context.Context, g event.NewGroup) (made event.CreatedGroup, err error) {
	people, err := peopleJIDs(g.Participants)
	if err != nil {
		return made, err
	}
	err = gs.calls.change(ctx, "create a group", []string{joinedKey}, func(ctx context.Context, cli *whatsmeow.Client) error {
		info, err := cli.CreateGroup(ctx, whatsmeow.ReqCreateGroup{Name: g.Subject, Participants: people})
		if err == nil {
			made = gs.createdGroup(cli, info)
		}
		return err
	})
	if err != nil {
		return made, err
	}
	if g.Description == "" {
		return made, nil
	}
	if err := gs.SetDescription(ctx, made.ID, g.Description); err != nil {
		made.DescriptionError = err.Error()
	} else {
		made.Desc = &g.Description
	}
	return made, nil
}

// createdGroup separates the people who were not added. WhatsApp lists them as
// participants with an error.
func (gs *Groups) createdGroup(cli *whatsmeow.Client, info *types.GroupInfo) event.CreatedGroup {
	made := event.CreatedGroup{NotAdded: []event.MemberResult{}}
	members := info.Participants[:0:0]
	for _, p := range info.Participants {
		if p.Error != 0 {
			made.NotAdded = append(made.NotAdded, gs.memberResult(cli, p))
		} else {
			members = append(members, p)
		}
	}
	info.Participants, info.ParticipantCount = members, len(members)
	made.GroupUpsert = gs.view(cli, info)
	return made
}

func peopleJIDs(people []string) ([]types.JID, error) {
	all := make([]types.JID, len(people))
	for i, p := range people {
		var err error
		if all[i], err = chatJID(p); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (gs *Groups) memberResult(cli *whatsmeow.Client, p types.GroupParticipant) event.MemberResult {
	alt := p.PhoneNumber
	if p.JID.Server == types.DefaultUserServer {
		alt = p.LID
	}
	jid, lid := gs.calls.conn.translator(cli).Both(p.JID, alt)
	r := event.MemberResult{JID: jid, LID: lid, Status: p.Error}
	if p.Error == 0 {
		r.Status = event.MemberChanged
	}
	if a := p.AddRequest; a != nil {
		r.Invitation = &event.Invitation{Code: a.Code, ExpiresAt: event.At(a.Expiration)}
	}
	return r
}

// askGroup is ask for one group.
func (gs *Groups) askGroup(ctx context.Context, what, group string, do func(context.Context, *whatsmeow.Client, types.JID) error) error {
	jid, err := chatJID(group)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return gs.calls.ask(ctx, what, func(ctx context.Context, cli *whatsmeow.Client) error { return do(ctx, cli, jid) })
}

// changeGroup is change for one part of a group.
func (gs *Groups) changeGroup(ctx context.Context, what, group, part string, do func(context.Context, *whatsmeow.Client, types.JID) error) error {
	jid, err := chatJID(group)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return gs.calls.change(ctx, what, []string{groupKey(jid, part)}, func(ctx context.Context, cli *whatsmeow.Client) error { return do(ctx, cli, jid) })
}

// Group implements instance.Groups.
func (gs *Groups) Group(ctx context.Context, group string) (g event.GroupUpsert, err error) {
	err = gs.askGroup(ctx, "look up the group", group, func(ctx context.Context, cli *whatsmeow.Client, jid types.JID) error {
		info, err := cli.GetGroupInfo(ctx, jid)
		if err == nil {
			g = gs.view(cli, info)
			gs.facts.learn(translate.GroupTimer(info))
		}
		return err
	})
	return g, err
}

// JoinedGroups implements instance.Groups.
func (gs *Groups) JoinedGroups(ctx context.Context) ([]event.GroupUpsert, error) {
	all := []event.GroupUpsert{}
	err := gs.calls.ask(ctx, "list the groups", func(ctx context.Context, cli *whatsmeow.Client) error {
		infos, err := cli.GetJoinedGroups(ctx)
		var timers []event.ChatTimer
		for _, info := range infos {
			all = append(all, gs.view(cli, info))
			timers = append(timers, translate.GroupTimer(info)...)
		}
		gs.facts.learn(timers)
		return err
	})
	return all, err
}

// LeaveGroup implements instance.Groups.
func (gs *Groups) LeaveGroup(ctx context.Context, group string) error {
	return gs.changeGroup(ctx, "leave the group", group, string(event.ParticipantRemove), func(ctx context.Context, cli *whatsmeow.Client, jid types.JID) error {
		return cli.LeaveGroup(ctx, jid)
	})
}

// ChangeMembers implements instance.Groups.
func (gs *Groups) ChangeMembers(ctx context.Context, group string, action event.ParticipantAction, people []string) ([]event.MemberResult, error) {
	jids, err := peopleJIDs(people)
	if err != nil {
		return nil, err
	}
	results := make([]event.MemberResult, 0, len(people))
	err = gs.changeGroup(ctx, string(action)+" members", group, string(action), func(ctx context.Context, cli *whatsmeow.Client, jid types.JID) error {
		changed, err := cli.UpdateGroupParticipants(ctx, jid, jids, whatsmeow.ParticipantChange(action))
		for _, p := range changed {
			results = append(results, gs.memberResult(cli, p))
		}
		return err
	})
	return results, err
}

// SetSubject implements instance.Groups.
func (gs *Groups) SetSubject(ctx context.Context, group, subject string) error {
	return gs.changeGroup(ctx, "change the subject", group, subjectPart, func(ctx context.Context, cli *whatsmeow.Client, jid types.JID) error {
		return cli.SetGroupName(ctx, jid, subject)
	})
}

// SetDescription implements instance.Groups. A change names the description that it
// replaces; WhatsApp rejects it if another change was faster.
func (gs *Groups) SetDescription(ctx context.Context, group, description string) error {
	return gs.changeGroup(ctx, "change the description", group, descriptionPart, func(ctx context.Context, cli *whatsmeow.Client, jid types.JID) error {
		info, err := cli.GetGroupInfo(ctx, jid)
		if err != nil {
			return err
		}
		return cli.SetGroupTopic(ctx, jid, info.TopicID, "", description)
	})
}

// SetGroupPicture implements instance.Groups.
func (gs *Groups) SetGroupPicture(ctx context.Context, group string, jpeg []byte) (id string, err error) {
	if len(jpeg) == 0 {
		jpeg = nil // removes
	}
	err = gs.changeGroup(ctx, "change the picture", group, picturePart, func(ctx context.Context, cli *whatsmeow.Client, jid types.JID) (err error) {
		id, err = cli.SetGroupPhoto(ctx, jid, jpeg)
		return err
	})
	if jpeg == nil {
		id = ""
	}
	return id, err
}

// InviteCode implements instance.Groups.
func (gs *Groups) InviteCode(ctx context.Context, group string, reset bool) (code string, err error) {
	const what = "ask for the invite code"
	ask := func(ctx context.Context, cli *whatsmeow.Client, jid types.JID) error {
		link, err := cli.GetGroupInviteLink(ctx, jid, reset)
		code = strings.TrimPrefix(link, whatsmeow.InviteLinkPrefix)
		return err
	}
	if reset {
		err = gs.changeGroup(ctx, what, group, invitePart, ask)
	} else {
		err = gs.askGroup(ctx, what, group, ask)
	}
	return code, err
}

// InvitedGroup implements instance.Groups.
func (gs *Groups) InvitedGroup(ctx context.Context, code string) (g event.GroupUpsert, err error) {
	err = gs.calls.ask(ctx, "look up the invitation", func(ctx context.Context, cli *whatsmeow.Client) error {
		info, err := cli.GetGroupInfoFromLink(ctx, code)
		if err == nil {
			g = gs.view(cli, info)
		}
		return err
	})
	return g, err
}

// JoinGroup implements instance.Groups. The library does not pass on which of its two
// answers WhatsApp gave, so JoinGroup requests the group, which only members can see.
func (gs *Groups) JoinGroup(ctx context.Context, code string) (group string, joined bool, err error) {
	err = gs.calls.change(ctx, "join the group", []string{joinedKey}, func(ctx context.Context, cli *whatsmeow.Client) error {
		jid, err := cli.JoinGroupWithLink(ctx, code)
		if err != nil {
			return err
		}
		group = jid.String()
		_, err = cli.GetGroupInfo(ctx, jid)
		if joined = err == nil; errors.Is(err, whatsmeow.ErrNotInGroup) {
			return nil
		}
		return err
	})
	return group, joined, err
}

// JoinRequests implements instance.Groups.
func (gs *Groups) JoinRequests(ctx context.Context, group string) ([]event.JoinRequest, error) {
	all := []event.JoinRequest{}
	err := gs.askGroup(ctx, "list the join requests", group, func(ctx context.Context, cli *whatsmeow.Client, jid types.JID) error {
		requests, err := cli.GetGroupRequestParticipants(ctx, jid)
		for _, r := range requests {
			who, lid := gs.calls.conn.translator(cli).Both(r.JID, types.EmptyJID)
			all = append(all, event.JoinRequest{JID: who, LID: lid, RequestedAt: event.At(r.RequestedAt)})
		}
		return err
	})
	return all, err
}

// DecideRequests implements instance.Groups.
func (gs *Groups) DecideRequests(ctx context.Context, group string, approve bool, people []string) ([]event.MemberResult, error) {
	jids, err := peopleJIDs(people)
	if err != nil {
		return nil, err
	}
	decision, part := whatsmeow.ParticipantChangeReject, otherPart
	if approve {
		decision, part = whatsmeow.ParticipantChangeApprove, string(event.ParticipantAdd)
	}
	results := make([]event.MemberResult, 0, len(people))
	err = gs.changeGroup(ctx, string(decision)+" join requests", group, part, func(ctx context.Context, cli *whatsmeow.Client, jid types.JID) error {
		decided, err := cli.UpdateGroupRequestParticipants(ctx, jid, jids, decision)
		for _, p := range decided {
			results = append(results, gs.memberResult(cli, p))
		}
		return err
	})
	return results, err
}
