package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/sandbox/network"
)

func TestMemberChangesByAClientReachOthers(t *testing.T) {
	s, own, anne, bob, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	jid := groupOfAll(c, anne)
	nth := 0
	step := func(action whatsmeow.ParticipantChange, fits func(*events.GroupInfo) []types.JID) {
		t.Helper()
		result, err := c.UpdateGroupParticipants(t.Context(), jid, []types.JID{bob.LID()}, action)
		if err != nil || len(result) != 1 || result[0].Error != 0 || result[0].LID != bob.LID() || result[0].PhoneNumber != bob.JID() {
			t.Fatalf("%s: %+v, %v", action, result, err)
		}
		nth++
		e := wait(other, nth, every[*events.GroupInfo])
		if got := fits(e); !slices.Equal(got, []types.JID{bob.LID()}) || e.ParticipantVersionID == "" || *e.Sender != own.LID() {
			t.Errorf("%s: received %+v", action, e)
		}
	}
	step(whatsmeow.ParticipantChangeAdd, func(e *events.GroupInfo) []types.JID { return e.Join })
	step(whatsmeow.ParticipantChangePromote, func(e *events.GroupInfo) []types.JID { return e.Promote })
	if got := roles(groupInfo(other, jid)); !slices.Equal(got, []string{ownNumber + " superadmin", anneNumber, bobNumber + " admin"}) {
		t.Errorf("members %q", got)
	}
	step(whatsmeow.ParticipantChangeDemote, func(e *events.GroupInfo) []types.JID { return e.Demote })
	step(whatsmeow.ParticipantChangeRemove, func(e *events.GroupInfo) []types.JID { return e.Leave })
	if got := roles(groupInfo(other, jid)); !slices.Equal(got, []string{ownNumber + " superadmin", anneNumber}) {
		t.Errorf("members %q", got)
	}
	for _, test := range []struct {
		who    types.JID
		action whatsmeow.ParticipantChange
		code   int
	}{
		{anne.LID(), whatsmeow.ParticipantChangeAdd, 409},
		{bob.LID(), whatsmeow.ParticipantChangeRemove, 404},
		{types.NewJID("4", types.HiddenUserServer), whatsmeow.ParticipantChangeAdd, 404},
	} {
		result, err := c.UpdateGroupParticipants(t.Context(), jid, []types.JID{test.who}, test.action)
		if err != nil || len(result) != 1 || result[0].Error != test.code {
			t.Errorf("%s %s: %+v, %v; want %d", test.action, test.who, result, err, test.code)
		}
	}
}

func TestRemovedAndLeavingMembersAreNotified(t *testing.T) {
	s, _, anne, bob, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	jid := groupOfAll(c, anne, bob)
	if _, err := c.UpdateGroupParticipants(t.Context(), jid, []types.JID{anne.LID()}, whatsmeow.ParticipantChangeRemove); err != nil {
		t.Fatal(err)
	}
	wait(other, 1, func(e *events.GroupInfo) bool { return slices.Equal(e.Leave, []types.JID{anne.LID()}) })
	if _, err := other.GetGroupInfo(t.Context(), jid); !errors.Is(err, whatsmeow.ErrNotInGroup) {
		t.Errorf("the removed one asks for the group: %v", err)
	}
	if err := c.LeaveGroup(t.Context(), jid); err != nil {
		t.Fatal(err)
	}
	wait(c, 2, func(e *events.GroupInfo) bool { return len(e.Leave) == 1 })
	if groups, err := c.GetJoinedGroups(t.Context()); err != nil || len(groups) != 0 {
		t.Errorf("after leaving: %v, %v", groups, err)
	}
	last := groupClient(t, s, bobNumber)
	if info := groupInfo(last, jid); len(info.Participants) != 1 || !info.Participants[0].IsAdmin || info.Participants[0].IsSuperAdmin {
		t.Errorf("the one who stays is %+v, want an admin", info.Participants)
	}
}

func TestInviteLinksWorkUntilTheirReset(t *testing.T) {
	s, _, anne, _, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	jid := groupOfAll(c)
	old, err := c.GetGroupInviteLink(t.Context(), jid, false)
	if err != nil {
		t.Fatal(err)
	}
	link, err := c.GetGroupInviteLink(t.Context(), jid, true)
	if err != nil || link == old {
		t.Fatalf("reset %s to %s, %v", old, link, err)
	}
	wait(c, 1, func(e *events.GroupInfo) bool { return e.NewInviteLink != nil && *e.NewInviteLink == link })
	if _, err := other.JoinGroupWithLink(t.Context(), old); !errors.Is(err, whatsmeow.ErrInviteLinkRevoked) {
		t.Errorf("with the old link: %v", err)
	}
	if _, err := other.GetGroupInfoFromLink(t.Context(), "wrong"); !errors.Is(err, whatsmeow.ErrInviteLinkInvalid) {
		t.Errorf("with a wrong link: %v", err)
	}
	if info, err := other.GetGroupInfoFromLink(t.Context(), link); err != nil || info.JID != jid || info.Name != "Friends" || len(info.Participants) != 0 {
		t.Errorf("looked at from outside: %+v, %v", info, err)
	}
	if got, err := other.JoinGroupWithLink(t.Context(), link); err != nil || got != jid {
		t.Fatalf("joined %s, %v", got, err)
	}
	if e := wait(other, 1, every[*events.JoinedGroup]); e.Reason != "invite" || *e.Sender != anne.LID() {
		t.Errorf("joined by the link: %+v", e)
	}
	wait(c, 1, func(e *events.GroupInfo) bool {
		return e.JoinReason == "invite" && slices.Equal(e.Join, []types.JID{anne.LID()})
	})
	if _, err := other.GetGroupInviteLink(t.Context(), jid, false); !errors.Is(err, whatsmeow.ErrGroupInviteLinkUnauthorized) {
		t.Errorf("a member who is no admin asks for the link: %v", err)
	}
}

func TestJoiningWaitsForApproval(t *testing.T) {
	s, _, anne, _, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	jid := groupOfAll(c)
	if err := c.SetGroupJoinApprovalMode(t.Context(), jid, true); err != nil {
		t.Fatal(err)
	}
	link, err := c.GetGroupInviteLink(t.Context(), jid, false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := other.JoinGroupWithLink(t.Context(), link); err != nil || got != jid {
		t.Fatalf("asked to join %s, %v", got, err)
	}
	requests, err := c.GetGroupRequestParticipants(t.Context(), jid)
	if err != nil || len(requests) != 1 || requests[0].JID != anne.LID() || requests[0].RequestedAt.IsZero() {
		t.Fatalf("requests %+v, %v", requests, err)
	}
	result, err := c.UpdateGroupRequestParticipants(t.Context(), jid, []types.JID{anne.LID()}, whatsmeow.ParticipantChangeApprove)
	if err != nil || len(result) != 1 || result[0].Error != 0 {
		t.Fatalf("approved %+v, %v", result, err)
	}
	wait(other, 1, func(e *events.JoinedGroup) bool { return e.JID == jid })
}

func TestFullGroupAcceptsNoMembers(t *testing.T) {
	s, own, _, _, c := groupNet(t, Config{})
	many := network.NewGroup{Subject: "Many"}
	for i := range network.MaxMembers - 1 {
		many.Members = append(many.Members, types.NewJID(fmt.Sprint(5521000001111+i*10000+1), types.DefaultUserServer))
	}
	jid, _, err := s.CreateGroup(own.JID(), many)
	if err != nil {
		t.Fatal(err)
	}
	link, err := c.GetGroupInviteLink(t.Context(), jid, false)
	if err != nil {
		t.Fatal(err)
	}
	other := groupClient(t, s, anneNumber)
	if _, err := other.JoinGroupWithLink(t.Context(), link); !errors.Is(err, whatsmeow.ErrIQResourceLimit) {
		t.Errorf("by the link: %v", err)
	}
	if _, err := c.UpdateGroupParticipants(t.Context(), jid, []types.JID{other.Store.GetJID().ToNonAD()}, "add"); !errors.Is(err, whatsmeow.ErrIQResourceLimit) {
		t.Errorf("added: %v", err)
	}
	if n := len(groupInfo(c, jid).Participants); n != network.MaxMembers {
		t.Errorf("%d members", n)
	}
}

func TestInvitationMessagesContainTheGroupCode(t *testing.T) {
	s, own, anne, _, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	jid, foreign := groupOfAll(c), groupOfAll(c)
	link, err := c.GetGroupInviteLink(t.Context(), jid, false)
	if err != nil {
		t.Fatal(err)
	}
	code := trimInvite(link)
	if info, err := other.GetGroupInfoFromInvite(t.Context(), jid, own.LID(), code, 1); err != nil || info.JID != jid || len(info.Participants) != 0 {
		t.Errorf("looked at from outside: %+v, %v", info, err)
	}
	if _, err := other.GetGroupInfoFromInvite(t.Context(), foreign, own.LID(), code, 1); !errors.Is(err, whatsmeow.ErrIQForbidden) {
		t.Errorf("another group: %v", err)
	}
	if err := other.JoinGroupWithInvite(t.Context(), foreign, own.LID(), code, 1); !errors.Is(err, whatsmeow.ErrIQNotAcceptable) {
		t.Errorf("joined another group: %v", err)
	}
	if err := other.JoinGroupWithInvite(t.Context(), jid, own.LID(), code, 1); err != nil {
		t.Fatal(err)
	}
	if e := wait(other, 1, every[*events.JoinedGroup]); e.JID != jid || *e.Sender != anne.LID() {
		t.Errorf("joined %+v", e)
	}
}
