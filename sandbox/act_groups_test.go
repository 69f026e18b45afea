package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/sandbox/network"
)

// madeByAct is a group of anne, who made it, bob and the client's account.
func madeByAct(t *testing.T, s *Server) types.JID {
	t.Helper()
	made := does(t, s, anneNumber, `{"do":"group-create","subject":"Friends","participants":["`+ownNumber+`","+`+bobNumber+`"]}`)
	jid, err := types.ParseJID(made["group"])
	if err != nil || jid.Server != types.GroupServer {
		t.Fatalf("made %q: %v", made, err)
	}
	return jid
}

func TestGroupCreateActSendsAllFields(t *testing.T) {
	s, own, anne, _, c := groupNet(t, Config{})
	made := does(t, s, anneNumber, `{"do":"group-create","subject":"Friends","participants":["`+own.LID().String()+`","`+bobNumber+`","`+bobNumber+`"],
		"description":"All of us","announce":true,"locked":true,"ephemeralSeconds":604800,"memberAddMode":"admin_add","joinApproval":true}`)
	e := wait(c, 1, every[*events.JoinedGroup])
	if e.JID.String() != made["group"] || e.Type != "new" || *e.Sender != anne.LID() || *e.SenderPN != anne.JID() || e.Notify != anne.PushName() ||
		e.Name != "Friends" || e.Topic != "All of us" || e.TopicID == "" || e.TopicSetBy != anne.LID() || e.TopicSetByPN != anne.JID() || e.TopicSetAt.IsZero() ||
		!e.IsAnnounce || !e.IsLocked || e.DisappearingTimer != 604800 || e.MemberAddMode != types.GroupMemberAddModeAdmin || !e.IsJoinApprovalRequired ||
		e.OwnerJID != anne.LID() || e.OwnerPN != anne.JID() || len(e.Participants) != 3 {
		t.Errorf("joined %+v", e)
	}
	if made["inviteCode"] == "" {
		t.Errorf("answer %q has no code", made)
	}
}

func TestGroupJoinActBringsAnAccountIn(t *testing.T) {
	s, own, anne, bob, c := groupNet(t, Config{})
	made := does(t, s, anneNumber, `{"do":"group-create","subject":"Friends"}`)
	does(t, s, anneNumber, `{"do":"group-join","group":"`+made["group"]+`","participant":"`+ownNumber+`"}`)
	if e := wait(c, 1, every[*events.JoinedGroup]); e.JID.String() != made["group"] || e.Type != "" || *e.Sender != anne.LID() || len(e.Participants) != 2 {
		t.Errorf("added %+v", e)
	}
	does(t, s, bobNumber, `{"do":"group-join","inviteCode":"`+whatsmeow.InviteLinkPrefix+made["inviteCode"]+`"}`)
	if e := wait(c, 1, every[*events.GroupInfo]); !slices.Equal(e.Join, []types.JID{bob.LID()}) || e.JoinReason != "invite" || *e.Sender != bob.LID() {
		t.Errorf("came by the code: %+v", e)
	}
	does(t, s, bobNumber, `{"do":"group-leave","group":"`+made["group"]+`"}`)
	if e := wait(c, 2, every[*events.GroupInfo]); !slices.Equal(e.Leave, []types.JID{bob.LID()}) {
		t.Errorf("left: %+v", e)
	}
	other := does(t, s, bobNumber, `{"do":"group-create","subject":"Others"}`)
	does(t, s, ownNumber, `{"do":"group-join","group":"`+other["group"]+`"}`)
	if e := wait(c, 2, every[*events.JoinedGroup]); e.JID.String() != other["group"] || e.Reason != "invite" || *e.Sender != own.LID() {
		t.Errorf("joined by itself: %+v", e)
	}
}

func TestGroupParticipantsActMovesMembers(t *testing.T) {
	s, _, anne, bob, c := groupNet(t, Config{})
	jid := madeByAct(t, s)
	for i, test := range []struct {
		action string
		moved  func(e *events.GroupInfo) []types.JID
	}{
		{"promote", func(e *events.GroupInfo) []types.JID { return e.Promote }},
		{"demote", func(e *events.GroupInfo) []types.JID { return e.Demote }},
		{"remove", func(e *events.GroupInfo) []types.JID { return e.Leave }},
		{"add", func(e *events.GroupInfo) []types.JID { return e.Join }},
	} {
		does(t, s, anneNumber, fmt.Sprintf(`{"do":"group-participants","group":"%s","action":"%s","participants":["%s"]}`, jid, test.action, bobNumber))
		e := wait(c, i+1, every[*events.GroupInfo])
		if !slices.Equal(test.moved(e), []types.JID{bob.LID()}) || e.JID != jid || *e.Sender != anne.LID() || *e.SenderPN != anne.JID() || e.ParticipantVersionID == "" {
			t.Errorf("%s: %+v", test.action, e)
		}
	}
}

func TestGroupUpdateActSendsEachChange(t *testing.T) {
	s, _, anne, _, c := groupNet(t, Config{})
	jid := madeByAct(t, s)
	town := does(t, s, anneNumber, `{"do":"group-create","subject":"Town","community":true,"participants":["`+ownNumber+`"]}`)
	for _, test := range []struct {
		fields string
		fits   func(e *events.GroupInfo) bool
	}{
		{`"subject":"Family"`, func(e *events.GroupInfo) bool {
			return e.Name != nil && e.Name.Name == "Family" && e.Name.NameSetBy == anne.LID() && e.Name.NameSetByPN == anne.JID()
		}},
		{`"description":"All of us"`, func(e *events.GroupInfo) bool {
			return e.Topic != nil && e.Topic.Topic == "All of us" && !e.Topic.TopicDeleted
		}},
		{`"description":""`, func(e *events.GroupInfo) bool { return e.Topic != nil && e.Topic.TopicDeleted }},
		{`"announce":true`, func(e *events.GroupInfo) bool { return e.Announce != nil && e.Announce.IsAnnounce }},
		{`"announce":false`, func(e *events.GroupInfo) bool { return e.Announce != nil && !e.Announce.IsAnnounce }},
		{`"locked":true`, func(e *events.GroupInfo) bool { return e.Locked != nil && e.Locked.IsLocked }},
		{`"locked":false`, func(e *events.GroupInfo) bool { return e.Locked != nil && !e.Locked.IsLocked }},
		{`"ephemeralSeconds":86400`, func(e *events.GroupInfo) bool { return e.Ephemeral != nil && e.Ephemeral.DisappearingTimer == 86400 }},
		{`"ephemeralSeconds":0`, func(e *events.GroupInfo) bool { return e.Ephemeral != nil && !e.Ephemeral.IsEphemeral }},
		{`"memberAddMode":"admin_add"`, func(e *events.GroupInfo) bool {
			return len(e.UnknownChanges) == 1 && string(e.UnknownChanges[0].Content.([]byte)) == "admin_add"
		}},
		{`"joinApproval":true`, func(e *events.GroupInfo) bool { return e.MembershipApprovalMode != nil }},
		{`"inviteLink":true`, func(e *events.GroupInfo) bool { return e.NewInviteLink != nil }},
		{`"suspended":true`, func(e *events.GroupInfo) bool { return e.Suspended }},
		{`"suspended":false`, func(e *events.GroupInfo) bool { return e.Unsuspended }},
		{`"link":"` + town["group"] + `"`, func(e *events.GroupInfo) bool {
			return e.Link != nil && e.Link.Group.JID.String() == town["group"] && e.Link.Type == types.GroupLinkChangeTypeParent
		}},
		{`"unlink":true`, func(e *events.GroupInfo) bool { return e.Unlink != nil && e.Unlink.Group.Name == "Town" }},
		{`"unknown":"grew_wings"`, func(e *events.GroupInfo) bool {
			return len(e.UnknownChanges) == 1 && e.UnknownChanges[0].Tag == "grew_wings"
		}},
		{`"delete":"spam"`, func(e *events.GroupInfo) bool { return e.Delete != nil && e.Delete.DeleteReason == "spam" }},
	} {
		ofGroup := func(e *events.GroupInfo) bool { return e.JID == jid }
		before := count(c, ofGroup)
		does(t, s, anneNumber, `{"do":"group-update","group":"`+jid.String()+`",`+test.fields+`}`)
		if e := wait(c, before+1, ofGroup); !test.fits(e) || *e.Sender != anne.LID() || *e.SenderPN != anne.JID() || e.Timestamp.IsZero() {
			t.Errorf("%s: received %+v", test.fields, e)
		}
	}
	if groups, err := c.GetJoinedGroups(t.Context()); err != nil || slices.ContainsFunc(groups, func(g *types.GroupInfo) bool { return g.JID == jid }) {
		t.Errorf("the deleted group is still there: %v, %v", groups, err)
	}
}

func TestSeveralUpdatesAtOnceAreSeveralNotifications(t *testing.T) {
	s, _, _, _, c := groupNet(t, Config{})
	jid := madeByAct(t, s)
	does(t, s, anneNumber, `{"do":"group-update","group":"`+jid.String()+`","subject":"A","announce":true,"locked":true}`)
	wait(c, 1, func(e *events.GroupInfo) bool { return e.Name != nil && e.Announce == nil })
	wait(c, 1, func(e *events.GroupInfo) bool { return e.Announce != nil && e.Locked == nil })
	wait(c, 1, func(e *events.GroupInfo) bool { return e.Locked != nil && e.Name == nil })
}

func TestGroupTextActIsReadByTheClient(t *testing.T) {
	s, _, anne, _, c := groupNet(t, Config{})
	jid := madeByAct(t, s)
	sent := does(t, s, anneNumber, `{"do":"text","to":"`+jid.String()+`","text":"to all"}`)
	if m := wait(c, 1, isText("to all")); m.Info.ID != sent["id"] || m.Info.Chat != jid || m.Info.Sender != anne.LID() {
		t.Errorf("read %+v", m.Info)
	}
}

func TestBadFieldsOfGroupActsChangeNothing(t *testing.T) {
	s, _, _, _, c := groupNet(t, Config{})
	jid := madeByAct(t, s)
	joined := wait(c, 1, every[*events.JoinedGroup])
	overlong := strings.Repeat("é", network.MaxSubject+1)
	for _, test := range []struct{ phone, fields, names string }{
		{anneNumber, `"do":"group-create"`, "subject"},
		{anneNumber, `"do":"group-create","subject":"` + overlong + `"`, "subject"},
		{anneNumber, `"do":"group-create","subject":"x","participants":["5511922222222","0"]`, "participants[1]"},
		{anneNumber, `"do":"group-create","subject":"x","participants":["x"]`, "participants[0]"},
		{anneNumber, `"do":"group-create","subject":"x","memberAddMode":"x"`, "memberAddMode"},
		{anneNumber, `"do":"group-create","subject":"x","parent":"` + jid.String() + `"`, "parent"},
		{anneNumber, `"do":"group-join"`, "group"},
		{anneNumber, `"do":"group-join","group":"12@g.us"`, "12@g.us"},
		{anneNumber, `"do":"group-join","inviteCode":"12"`, "inviteCode"},
		{anneNumber, `"do":"group-join","group":"` + jid.String() + `","participant":"` + bobNumber + `"`, "participant"},
		{anneNumber, `"do":"group-update"`, "group"},
		{anneNumber, `"do":"group-update","group":"` + jid.String() + `"`, "change"},
		{anneNumber, `"do":"group-update","group":"5511922222222","subject":"x"`, "group"},
		{anneNumber, `"do":"group-update","group":"` + jid.String() + `","subject":""`, "subject"},
		{anneNumber, `"do":"group-update","group":"` + jid.String() + `","subject":"x","memberAddMode":"x"`, "memberAddMode"},
		{anneNumber, `"do":"group-update","group":"` + jid.String() + `","subject":"x","unlink":true`, "unlink"},
		{anneNumber, `"do":"group-update","group":"` + jid.String() + `","subject":"x","link":"` + jid.String() + `"`, "link"},
		{anneNumber, `"do":"group-update","group":"` + jid.String() + `","subject":"x","unknown":"A B"`, "unknown"},
		{bobNumber, `"do":"group-update","group":"` + jid.String() + `","locked":true`, "admins"},
		{carlNumber, `"do":"group-update","group":"` + jid.String() + `","subject":"x"`, "not in the group"},
		{anneNumber, `"do":"group-participants","group":"` + jid.String() + `","action":"x","participants":["` + bobNumber + `"]`, "action"},
		{anneNumber, `"do":"group-participants","group":"` + jid.String() + `","action":"add"`, "participants"},
		{anneNumber, `"do":"group-participants","group":"` + jid.String() + `","action":"remove","participants":["` + bobNumber + `","` + carlNumber + `"]`, carlNumber},
		{bobNumber, `"do":"group-participants","group":"` + jid.String() + `","action":"remove","participants":["` + ownNumber + `"]`, "admins"},
		{bobNumber, `"do":"group-leave","group":"12@g.us"`, "12@g.us"},
		{carlNumber, `"do":"text","to":"` + jid.String() + `","text":"x"`, "not in the group"},
	} {
		var answer controlError
		got := call(t, s, "POST", "/sandbox/phones/"+test.phone+"/act", "{"+test.fields+"}", &answer)
		if got != http.StatusUnprocessableEntity || len(answer.Messages) != 1 || !strings.Contains(answer.Messages[0], test.names) {
			t.Errorf("%s: %d %q, want 422 that names %s", test.fields, got, answer.Messages, test.names)
		}
	}
	info := groupInfo(c, jid)
	if info.Name != joined.Name || info.IsLocked || len(info.Participants) != 3 || count(c, every[*events.GroupInfo]) != 0 {
		t.Errorf("something was changed: %+v", info)
	}
}
