package translate

import (
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

func (t Translator) groupFacts(evt any) ([]event.Fact, bool) {
	switch evt := evt.(type) {
	case *events.JoinedGroup:
		return one(event.GroupsUpsert, []event.GroupUpsert{t.Joined(evt)})
	case *events.GroupInfo:
		return t.groupChange(evt), true
	default:
		return nil, false
	}
}

// Joined returns a joined group.
func (t Translator) Joined(evt *events.JoinedGroup) event.GroupUpsert {
	g := evt.GroupInfo
	up := event.GroupUpsert{ID: g.JID.String(), Subject: g.Name, Participants: t.participants(g.Participants)}
	m := &up.GroupMetadata
	m.Notify, m.AddressingMode = evt.Notify, string(g.AddressingMode)
	m.Owner, m.OwnerPN, m.OwnerCountryCode = named(g.OwnerJID), t.phoneOf(g.OwnerJID, g.OwnerPN), g.CreatorCountryCode
	m.Creation = unix(g.GroupCreated)
	t.subject(m, g.GroupName)
	if g.Topic != "" || g.TopicID != "" {
		t.description(m, g.GroupTopic)
	}
	m.Restrict, m.Announce = &g.IsLocked, &g.IsAnnounce
	m.IsCommunity, m.IsCommunityAnnounce = &g.IsParent, &g.IsDefaultSubGroup
	m.JoinApprovalMode = &g.IsJoinApprovalRequired
	m.EphemeralDuration = ephemeral(g.GroupEphemeral)
	if g.MemberAddMode != "" {
		m.MemberAddMode = new(g.MemberAddMode == types.GroupMemberAddModeAllMember)
	}
	if g.LinkedParentJID.User != "" {
		m.LinkedParent = new(g.LinkedParentJID.String())
	}
	if m.Size = g.ParticipantCount; m.Size <= 0 {
		m.Size = len(g.Participants)
	}
	t.author(m, evt.Sender, evt.SenderPN)
	return up
}

// groupChange reports changes of members and their rights, and any other change as
// groups.update. An event can be both.
func (t Translator) groupChange(evt *events.GroupInfo) []event.Fact {
	var facts []event.Fact
	author, authorPN := address(evt.Sender), ""
	if evt.Sender != nil {
		authorPN = t.phoneOf(*evt.Sender, deref(evt.SenderPN))
	}
	for _, change := range []struct {
		action event.ParticipantAction
		who    []types.JID
	}{
		{event.ParticipantAdd, evt.Join},
		{event.ParticipantRemove, evt.Leave},
		{event.ParticipantPromote, evt.Promote},
		{event.ParticipantDemote, evt.Demote},
	} {
		if len(change.who) > 0 {
			facts = append(facts, event.Fact{Kind: event.GroupsParticipantsEvent, Data: event.GroupParticipantsUpdate{
				ID: evt.JID.String(), Author: author, AuthorPN: authorPN,
				Participants: t.members(change.who, change.action == event.ParticipantPromote), Action: change.action,
			}})
		}
	}
	if p := t.partial(evt); len(facts) == 0 || changesMore(evt) {
		facts = append(facts, event.Fact{Kind: event.GroupsUpdate, Data: []event.GroupUpdate{{Partial: p}}})
	}
	return facts
}

func (t Translator) partial(evt *events.GroupInfo) event.GroupPartial {
	p := event.GroupPartial{ID: evt.JID.String()}
	m := &p.GroupMetadata
	m.Notify = evt.Notify
	t.author(m, evt.Sender, evt.SenderPN)
	if evt.Name != nil {
		p.Subject = evt.Name.Name
		t.subject(m, *evt.Name)
	}
	if evt.Topic != nil {
		t.description(m, *evt.Topic)
	}
	if evt.Locked != nil {
		m.Restrict = &evt.Locked.IsLocked
	}
	if evt.Announce != nil {
		m.Announce = &evt.Announce.IsAnnounce
	}
	if evt.Ephemeral != nil {
		m.EphemeralDuration = ephemeral(*evt.Ephemeral)
	}
	approvalMode(m, evt)
	if evt.NewInviteLink != nil {
		m.InviteCode = inviteCode(*evt.NewInviteLink)
	}
	linkedParent(m, evt)
	memberAddMode(m, evt)
	return p
}

// changesMore reports whether an event changes more than members.
func changesMore(evt *events.GroupInfo) bool {
	return evt.Name != nil || evt.Topic != nil || evt.Locked != nil || evt.Announce != nil || evt.Ephemeral != nil ||
		evt.MembershipApprovalMode != nil || evt.Delete != nil || evt.Link != nil || evt.Unlink != nil ||
		evt.NewInviteLink != nil || evt.Suspended || evt.Unsuspended || len(evt.UnknownChanges) > 0
}

// linkedParent sets that the group joined or left a community. Links to other groups do
// not change the group itself.
func linkedParent(m *event.GroupMetadata, evt *events.GroupInfo) {
	if l := evt.Unlink; l != nil && l.Type == types.GroupLinkChangeTypeParent {
		m.LinkedParent = new("")
	}
	if l := evt.Link; l != nil && l.Type == types.GroupLinkChangeTypeParent {
		m.LinkedParent = new(l.Group.JID.String())
	}
}

// memberAddMode reads a change that the library does not parse.
func memberAddMode(m *event.GroupMetadata, evt *events.GroupInfo) {
	for _, n := range evt.UnknownChanges {
		if !IsMemberAddMode(n) {
			continue
		}
		switch text := nodeText(n); types.GroupMemberAddMode(text) {
		case types.GroupMemberAddModeAllMember:
			m.MemberAddMode = new(true)
		case types.GroupMemberAddModeAdmin:
			m.MemberAddMode = new(false)
		}
	}
}

// IsMemberAddMode reports whether a change of a group, which the library does not parse,
// is one of who may add members.
func IsMemberAddMode(n *waBinary.Node) bool { return n != nil && n.Tag == "member_add_mode" }

func (t Translator) author(m *event.GroupMetadata, sender, phone *types.JID) {
	if sender == nil {
		return
	}
	m.Author, m.AuthorPN = named(*sender), t.phoneOf(*sender, deref(phone))
}

func (t Translator) subject(m *event.GroupMetadata, n types.GroupName) {
	m.SubjectOwner, m.SubjectOwnerPN, m.SubjectTime = named(n.NameSetBy), t.phoneOf(n.NameSetBy, n.NameSetByPN), unix(n.NameSetAt)
}

func (t Translator) description(m *event.GroupMetadata, topic types.GroupTopic) {
	text := topic.Topic
	if topic.TopicDeleted {
		text = ""
	}
	m.Desc, m.DescID, m.DescTime = &text, topic.TopicID, unix(topic.TopicSetAt)
	m.DescOwner, m.DescOwnerPN = named(topic.TopicSetBy), t.phoneOf(topic.TopicSetBy, topic.TopicSetByPN)
}

func (t Translator) participants(list []types.GroupParticipant) event.Participants {
	out := make(event.Participants, 0, len(list))
	for _, p := range list {
		alt := p.PhoneNumber
		if p.JID.Server == types.DefaultUserServer {
			alt = p.LID
		}
		member := t.member(p.JID, alt)
		member.IsAdmin, member.IsSuperAdmin = p.IsAdmin || p.IsSuperAdmin, p.IsSuperAdmin
		switch {
		case p.IsSuperAdmin:
			member.Admin = new(event.RoleSuperAdmin)
		case p.IsAdmin:
			member.Admin = new(event.RoleAdmin)
		}
		out = append(out, member)
	}
	return out
}

// members lists people known only by address, and whether they are admins after the
// change.
func (t Translator) members(who []types.JID, admin bool) event.Participants {
	out := make(event.Participants, 0, len(who))
	for _, jid := range who {
		member := t.member(jid, types.EmptyJID)
		if member.IsAdmin = admin; admin {
			member.Admin = new(event.RoleAdmin)
		}
		out = append(out, member)
	}
	return out
}

func (t Translator) member(jid, alt types.JID) event.Participant {
	id, lid := t.Both(jid, alt)
	return event.Participant{ID: id, LID: lid}
}

// phoneOf returns the phone JID of a person, as sent by WhatsApp or as known.
func (t Translator) phoneOf(jid, sent types.JID) string {
	if sent.User != "" && sent.Server == types.DefaultUserServer {
		return sent.ToNonAD().String()
	}
	return t.phone(jid)
}

func ephemeral(e types.GroupEphemeral) *int64 {
	if !e.IsEphemeral {
		return new(int64(0))
	}
	return new(int64(e.DisappearingTimer))
}

// inviteCode returns the code of an invite link.
func inviteCode(link string) string {
	return link[strings.LastIndexByte(link, '/')+1:]
}

func unix(when time.Time) int64 {
	return max(when.Unix(), 0)
}

// named returns an address without a device.
func named(j types.JID) string {
	if j.User == "" {
		return ""
	}
	return j.ToNonAD().String()
}

func address(j *types.JID) string { return named(deref(j)) }

func deref(j *types.JID) types.JID {
	if j == nil {
		return types.EmptyJID
	}
	return *j
}
