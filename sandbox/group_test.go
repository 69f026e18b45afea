package sandbox

import (
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/e2e/bare"
	"postern/sandbox/phone"
)

const bobNumber = "5511933333333"

// groupClient links a client that can read and write in groups.
func groupClient(t *testing.T, s *Server, number string) *client {
	t.Helper()
	p, ok := s.Phone(number)
	if !ok {
		t.Fatalf("no phone %s", number)
	}
	device := bare.NewDevice()
	device.SenderKeys = &senderKeys{NoopStore: &store.NoopStore{}, keys: map[string][]byte{}}
	c := newClient(t, s, device)
	c.pairByQR(p)
	return c
}

// groupNet has three phones, of which the first has a linked client.
func groupNet(t *testing.T, cfg Config) (s *Server, own, anne, bob *phone.Phone, c *client) {
	t.Helper()
	s = openServer(t, cfg)
	own, anne, bob = addPhone(t, s, ownNumber), addPhone(t, s, anneNumber), addPhone(t, s, bobNumber)
	return s, own, anne, bob, groupClient(t, s, ownNumber)
}

// groupOfAll is a group that the client made with the two other phones.
func groupOfAll(c *client, others ...*phone.Phone) types.JID {
	c.t.Helper()
	req := whatsmeow.ReqCreateGroup{Name: "Friends"}
	for _, p := range others {
		req.Participants = append(req.Participants, p.LID())
	}
	info, err := c.CreateGroup(c.t.Context(), req)
	if err != nil {
		c.t.Fatal(err)
	}
	return info.JID
}

func groupInfo(c *client, jid types.JID) *types.GroupInfo {
	c.t.Helper()
	info, err := c.GetGroupInfo(c.t.Context(), jid)
	if err != nil {
		c.t.Fatal(err)
	}
	return info
}

// roles describes members in the order of their joining.
func roles(info *types.GroupInfo) []string {
	var all []string
	for _, p := range info.Participants {
		role := p.PhoneNumber.User
		switch {
		case p.IsSuperAdmin:
			role += " superadmin"
		case p.IsAdmin:
			role += " admin"
		}
		all = append(all, role)
	}
	return all
}

func TestGroupByAClientReachesEveryMember(t *testing.T) {
	s, own, anne, bob, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	info, err := c.CreateGroup(t.Context(), whatsmeow.ReqCreateGroup{
		Name: "Friends", Participants: []types.JID{anne.LID(), bob.JID(), types.NewJID("5511900000000", types.DefaultUserServer)},
		GroupEphemeral: types.GroupEphemeral{IsEphemeral: true, DisappearingTimer: 86400},
		GroupLocked:    types.GroupLocked{IsLocked: true}, GroupAnnounce: types.GroupAnnounce{IsAnnounce: true},
		GroupMembershipApprovalMode: types.GroupMembershipApprovalMode{IsJoinApprovalRequired: true},
		MemberAddMode:               types.GroupMemberAddModeAdmin,
	})
	if err != nil {
		t.Fatal(err)
	}
	if refused := info.Participants[len(info.Participants)-1]; len(info.Participants) != 4 || refused.Error != http.StatusNotFound || refused.PhoneNumber.User != "5511900000000" {
		t.Errorf("who is not on the network: %+v", refused)
	}
	info.Participants = info.Participants[:3]
	want := []string{ownNumber + " superadmin", anneNumber, bobNumber}
	for _, got := range []*types.GroupInfo{info, groupInfo(c, info.JID), groupInfo(other, info.JID)} {
		if got.Name != "Friends" || got.NameSetBy != own.LID() || got.NameSetByPN != own.JID() || got.OwnerJID != own.LID() || got.OwnerPN != own.JID() ||
			got.GroupCreated.IsZero() || got.NameSetAt.IsZero() || got.AddressingMode != types.AddressingModeLID || got.ParticipantCount != 3 ||
			!got.IsLocked || !got.IsAnnounce || !got.IsJoinApprovalRequired || got.MemberAddMode != types.GroupMemberAddModeAdmin ||
			got.DisappearingTimer != 86400 || !slices.Equal(roles(got), want) || got.Participants[1].LID != anne.LID() {
			t.Errorf("group %+v", got)
		}
	}
	for _, of := range []*client{c, other} {
		e := wait(of, 1, every[*events.JoinedGroup])
		if e.JID != info.JID || e.Type != "new" || e.Sender == nil || *e.Sender != own.LID() || *e.SenderPN != own.JID() ||
			e.Notify != own.PushName() || len(e.Participants) != 3 {
			t.Errorf("joined %+v", e)
		}
	}
	groups, err := other.GetJoinedGroups(t.Context())
	if err != nil || len(groups) != 1 || groups[0].JID != info.JID || len(groups[0].Participants) != 3 {
		t.Errorf("joined groups %+v, %v", groups, err)
	}
	eventually(t, "the clients acknowledge", func() bool { return queuedFor(s, own)+queuedFor(s, anne) == 0 })
}

func TestGroupChangesByAClientReachOthers(t *testing.T) {
	s, own, anne, bob, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	jid := groupOfAll(c, anne, bob)
	ctx := t.Context()
	for _, step := range []struct {
		name  string
		do    func() error
		fits  func(e *events.GroupInfo) bool
		after func(g *types.GroupInfo) bool
	}{
		{
			"name", func() error { return c.SetGroupName(ctx, jid, "Family") },
			func(e *events.GroupInfo) bool {
				return e.Name != nil && e.Name.Name == "Family" && e.Name.NameSetBy == own.LID() && e.Name.NameSetByPN == own.JID()
			},
			func(g *types.GroupInfo) bool { return g.Name == "Family" },
		},
		{
			"description", func() error { return c.SetGroupDescription(ctx, jid, "All of us") },
			func(e *events.GroupInfo) bool {
				return e.Topic != nil && e.Topic.Topic == "All of us" && e.Topic.TopicID != ""
			},
			func(g *types.GroupInfo) bool {
				return g.Topic == "All of us" && g.TopicSetBy == own.LID() && g.TopicSetByPN == own.JID()
			},
		},
		{
			"topic", func() error { return c.SetGroupTopic(ctx, jid, "", "T1", "Nearly all") },
			func(e *events.GroupInfo) bool { return e.Topic != nil && e.Topic.TopicID == "T1" },
			func(g *types.GroupInfo) bool { return g.TopicID == "T1" && g.Topic == "Nearly all" },
		},
		{
			"topic removed", func() error { return c.SetGroupTopic(ctx, jid, "", "", "") },
			func(e *events.GroupInfo) bool { return e.Topic != nil && e.Topic.TopicDeleted },
			func(g *types.GroupInfo) bool { return g.Topic == "" && g.TopicID == "" },
		},
		{
			"locked", func() error { return c.SetGroupLocked(ctx, jid, true) },
			func(e *events.GroupInfo) bool { return e.Locked != nil && e.Locked.IsLocked },
			func(g *types.GroupInfo) bool { return g.IsLocked },
		},
		{
			"unlocked", func() error { return c.SetGroupLocked(ctx, jid, false) },
			func(e *events.GroupInfo) bool { return e.Locked != nil && !e.Locked.IsLocked },
			func(g *types.GroupInfo) bool { return !g.IsLocked },
		},
		{
			"announce", func() error { return c.SetGroupAnnounce(ctx, jid, true) },
			func(e *events.GroupInfo) bool {
				return e.Announce != nil && e.Announce.IsAnnounce && e.Announce.AnnounceVersionID != ""
			},
			func(g *types.GroupInfo) bool { return g.IsAnnounce },
		},
		{
			"not announce", func() error { return c.SetGroupAnnounce(ctx, jid, false) },
			func(e *events.GroupInfo) bool { return e.Announce != nil && !e.Announce.IsAnnounce },
			func(g *types.GroupInfo) bool { return !g.IsAnnounce },
		},
		{
			"ephemeral", func() error { return c.SetDisappearingTimer(ctx, jid, whatsmeow.DisappearingTimer7Days, time.Time{}) },
			func(e *events.GroupInfo) bool { return e.Ephemeral != nil && e.Ephemeral.DisappearingTimer == 604800 },
			func(g *types.GroupInfo) bool { return g.DisappearingTimer == 604800 },
		},
		{
			"not ephemeral", func() error { return c.SetDisappearingTimer(ctx, jid, 0, time.Time{}) },
			func(e *events.GroupInfo) bool { return e.Ephemeral != nil && !e.Ephemeral.IsEphemeral },
			func(g *types.GroupInfo) bool { return !g.IsEphemeral },
		},
		{
			"member add mode", func() error { return c.SetGroupMemberAddMode(ctx, jid, types.GroupMemberAddModeAdmin) },
			func(e *events.GroupInfo) bool {
				return len(e.UnknownChanges) == 1 && e.UnknownChanges[0].Tag == "member_add_mode"
			},
			func(g *types.GroupInfo) bool { return g.MemberAddMode == types.GroupMemberAddModeAdmin },
		},
		{
			"approval", func() error { return c.SetGroupJoinApprovalMode(ctx, jid, true) },
			func(e *events.GroupInfo) bool { return e.MembershipApprovalMode != nil },
			func(g *types.GroupInfo) bool { return g.IsJoinApprovalRequired },
		},
	} {
		before := count(other, every[*events.GroupInfo])
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for _, of := range []*client{c, other} {
			e := wait(of, before+1, every[*events.GroupInfo])
			if e.JID != jid || e.Sender == nil || *e.Sender != own.LID() || *e.SenderPN != own.JID() || e.Timestamp.IsZero() || !step.fits(e) {
				t.Errorf("%s: received %+v", step.name, e)
			}
		}
		if info := groupInfo(other, jid); !step.after(info) {
			t.Errorf("%s: the group is %+v", step.name, info)
		}
	}
}

func TestGroupsRefuseWhatIsNotAllowed(t *testing.T) {
	s, _, anne, bob, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	jid, foreign := groupOfAll(c, anne), groupOfAll(c, bob)
	ctx := t.Context()
	if err := c.SetGroupLocked(ctx, jid, true); err != nil {
		t.Fatal(err)
	}
	if err := c.SetGroupMemberAddMode(ctx, jid, types.GroupMemberAddModeAdmin); err != nil {
		t.Fatal(err)
	}
	change := func(action whatsmeow.ParticipantChange) error {
		_, err := other.UpdateGroupParticipants(ctx, jid, []types.JID{bob.LID()}, action)
		return err
	}
	for what, test := range map[string]struct{ got, want error }{
		"name of a locked group":  {other.SetGroupName(ctx, jid, "x"), whatsmeow.ErrIQForbidden},
		"lock":                    {other.SetGroupLocked(ctx, jid, false), whatsmeow.ErrIQForbidden},
		"announce":                {other.SetGroupAnnounce(ctx, jid, true), whatsmeow.ErrIQForbidden},
		"add":                     {change("add"), whatsmeow.ErrIQForbidden},
		"remove":                  {change("remove"), whatsmeow.ErrIQForbidden},
		"promote":                 {change("promote"), whatsmeow.ErrIQForbidden},
		"name of a foreign group": {other.SetGroupName(ctx, foreign, "x"), whatsmeow.ErrIQForbidden},
		"leave a foreign group":   {other.LeaveGroup(ctx, foreign), whatsmeow.ErrIQForbidden},
		"unknown group":           {other.SetGroupName(ctx, types.NewJID("12", types.GroupServer), "x"), whatsmeow.ErrIQNotFound},
		"overlong name":           {c.SetGroupName(ctx, jid, string(make([]byte, 101))), whatsmeow.ErrIQNotAcceptable},
		"empty name":              {c.SetGroupName(ctx, jid, ""), whatsmeow.ErrIQNotAcceptable},
		"another description":     {c.SetGroupTopic(ctx, jid, "NOTIT", "", "x"), &whatsmeow.IQError{Code: 409, Text: "conflict"}},
	} {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: %v, want %v", what, test.got, test.want)
		}
	}
	info := groupInfo(c, jid)
	if info.Name != "Friends" || !info.IsLocked || info.IsAnnounce || len(info.Participants) != 2 || info.Topic != "" {
		t.Errorf("a refused change was made: %+v", info)
	}
}

func TestCommunitiesLinkTheirGroups(t *testing.T) {
	_, own, anne, _, c := groupNet(t, Config{})
	ctx := t.Context()
	community, err := c.CreateGroup(ctx, whatsmeow.ReqCreateGroup{Name: "Town", GroupParent: types.GroupParent{IsParent: true}})
	if err != nil || !community.IsParent {
		t.Fatalf("community %+v, %v", community, err)
	}
	announcements := wait(c, 1, func(e *events.JoinedGroup) bool { return e.JID != community.JID })
	if !announcements.IsDefaultSubGroup || !announcements.IsAnnounce || announcements.LinkedParentJID != community.JID {
		t.Errorf("announcements %+v", announcements)
	}
	jid := groupOfAll(c, anne)
	if err := c.LinkGroup(ctx, community.JID, jid); err != nil {
		t.Fatal(err)
	}
	if e := wait(c, 1, func(e *events.GroupInfo) bool { return e.JID == jid && e.Link != nil }); e.Link.Type != types.GroupLinkChangeTypeParent ||
		e.Link.Group.JID != community.JID || e.Link.Group.Name != "Town" {
		t.Errorf("linked %+v", e.Link)
	}
	if info := groupInfo(c, jid); info.LinkedParentJID != community.JID {
		t.Errorf("linked group %+v", info)
	}
	if subs, err := c.GetSubGroups(ctx, community.JID); err != nil || len(subs) != 2 {
		t.Errorf("groups of the community %+v, %v", subs, err)
	}
	everybody, err := c.GetLinkedGroupsParticipants(ctx, community.JID)
	if err != nil || !slices.Equal(everybody, []types.JID{own.LID(), anne.LID()}) {
		t.Errorf("people of the community %v, %v", everybody, err)
	}
	if err := c.LinkGroup(ctx, community.JID, community.JID); !errors.Is(err, whatsmeow.ErrIQBadRequest) {
		t.Errorf("a community linked to itself: %v", err)
	}
	if err := c.UnlinkGroup(ctx, community.JID, jid); err != nil {
		t.Fatal(err)
	}
	if e := wait(c, 1, func(e *events.GroupInfo) bool { return e.JID == jid && e.Unlink != nil }); e.Unlink.UnlinkReason != types.GroupUnlinkReasonDefault {
		t.Errorf("unlinked %+v", e.Unlink)
	}
}

func TestRestartKeepsGroupsAndTheirKeys(t *testing.T) {
	cfg := Config{Path: filepath.Join(t.TempDir(), "sandbox.db")}
	s, _, anne, bob, c := groupNet(t, cfg)
	jid := groupOfAll(c, anne, bob)
	if err := c.SetGroupDescription(t.Context(), jid, "All of us"); err != nil {
		t.Fatal(err)
	}
	gone := groupOfAll(c)
	if err := c.LeaveGroup(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	before := groupInfo(c, jid)
	c.sendText(jid, "before")
	receive(t, anne, "before")
	device := c.Store
	c.Disconnect()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openServer(t, cfg)
	c = newClient(t, s, device)
	c.connect()
	wait(c, 1, every[*events.Connected])
	groups, err := c.GetJoinedGroups(t.Context())
	if err != nil || len(groups) != 1 {
		t.Fatalf("after the restart: %v, %v", groups, err)
	}
	after := groups[0]
	if after.JID != jid || after.Name != before.Name || after.Topic != "All of us" || after.TopicID != before.TopicID ||
		!after.GroupCreated.Equal(before.GroupCreated) || !slices.Equal(roles(after), roles(before)) {
		t.Errorf("kept %+v, want %+v", after, before)
	}
	again, _ := s.Phone(anneNumber)
	c.sendText(jid, "after")
	receive(t, again, "after")
}
