package whatsapp

import (
	"context"
	"testing"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/whatsapp/translate"
)

// The network reports these changes before or after the answer to the call.
func TestChangeEventHasTheRequestID(t *testing.T) {
	r, second := twins(t)
	s, chat := r.session, r.contact().JID().String()
	label, err := s.Account.Labels.CreateLabel(t.Context(), "VIP", 3)
	if err != nil {
		t.Fatal(err)
	}
	key := event.MessageKey{ID: "3EB0AA", RemoteJID: chat, FromMe: true}
	for id, call := range map[string]struct {
		kind event.Kind
		do   func(context.Context) error
	}{
		"archive": {event.ChatsUpdated, func(ctx context.Context) error { return s.Account.Chats.Archive(ctx, chat, false, event.LastMessage{}) }}, // true unpins it, too
		"pin":     {event.ChatsUpdated, func(ctx context.Context) error { return s.Account.Chats.Pin(ctx, chat, true) }},
		"mute":    {event.ChatsUpdated, func(ctx context.Context) error { return s.Account.Chats.Mute(ctx, chat, true, time.Time{}) }},
		"star":    {event.MessagesStar, func(ctx context.Context) error { return s.Account.Chats.Star(ctx, key, true) }},
		"unread": {event.ChatsUpdated, func(ctx context.Context) error {
			return s.Account.Chats.MarkUnread(ctx, chat, true, event.LastMessage{})
		}},
		"delete": {event.ChatsDelete, func(ctx context.Context) error { return s.Account.Chats.DeleteChat(ctx, chat, event.LastMessage{}) }},
		"hide":   {event.MessagesDelete, func(ctx context.Context) error { return s.Account.Chats.DeleteForMe(ctx, key, time.Now()) }},
		"name":   {event.SettingsUpdate, func(ctx context.Context) error { return s.Account.Self.SetName(ctx, "Bakery") }},
		"label":  {event.LabelsAssociation, func(ctx context.Context) error { return s.Account.Labels.LabelChat(ctx, label.ID, chat, true) }},
		"rename": {event.LabelsEdit, func(ctx context.Context) error {
			_, err := s.Account.Labels.EditLabel(ctx, label.ID, event.LabelChange{Name: new("Regulars")})
			return err
		}},
	} {
		if err := call.do(event.WithRequestID(t.Context(), id)); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		r.await("event of "+id, func(f event.Fact) bool { return f.Kind == call.kind && f.RequestID == id })
		r.await("state of "+id, func(f event.Fact) bool { return f.Kind == event.StatusInstance && f.RequestID == id })
		f := second.await("event of "+id+" at the other device", func(f event.Fact) bool { return f.Kind == call.kind })
		if f.RequestID != "" {
			t.Errorf("the other device, which was not called, reports %s", f.RequestID)
		}
	}
	s.calls.causes.mu.Lock()
	defer s.calls.causes.mu.Unlock()
	if left := s.calls.causes.calls; len(left) != 0 {
		t.Errorf("calls whose events came are still expected: %v", left)
	}
}

func TestGroupChangeEventHasTheRequestID(t *testing.T) {
	c := newCircle(t)
	s := c.owner.session
	caused := func(id string, kind event.Kind, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		c.owner.await("event of "+id, func(f event.Fact) bool { return f.Kind == kind && f.RequestID == id })
	}
	with := func(id string) context.Context { return event.WithRequestID(t.Context(), id) }
	_, err := s.Account.Groups.CreateGroup(with("create"), event.NewGroup{Subject: "Cooks", Participants: []string{c.phone.JID().String()}})
	caused("create", event.GroupsUpsert, err)
	caused("subject", event.GroupsUpdate, s.Account.Groups.SetSubject(with("subject"), c.id, "Bread"))
	caused("description", event.GroupsUpdate, s.Account.Groups.SetDescription(with("description"), c.id, "Only bread"))
	_, err = s.Account.Groups.InviteCode(with("invite"), c.id, true)
	caused("invite", event.GroupsUpdate, err)
	_, err = s.Account.Groups.ChangeMembers(with("promote"), c.id, event.ParticipantPromote, []string{c.phone.JID().String()})
	caused("promote", event.GroupsParticipantsEvent, err)

	// WhatsApp takes settings one by one, and may tell of some of them late.
	err = s.Account.Groups.ChangeSettings(with("settings"), c.id, event.GroupSettings{
		Announce: new(true), Restrict: new(true), MemberAddMode: new(true), JoinApprovalMode: new(true), EphemeralDuration: new(int64(0)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		caused("settings", event.GroupsUpdate, nil)
	}

	// No call here made the other one's changes.
	if _, err = s.Account.Groups.InviteCode(with("read"), c.id, false); err != nil {
		t.Fatal(err)
	}
	if err := c.other.session.Account.Groups.SetSubject(t.Context(), c.id, "Cake"); err != nil {
		t.Fatal(err)
	}
	c.owner.await("event of the other's change", func(f event.Fact) bool {
		d, ok := f.Data.([]event.GroupUpdate)
		return ok && d[0].Partial.Subject == "Cake" && f.RequestID == ""
	})
}

// TestLateGroupEventKeepsItsRequestID: the next call for the same group may precede the
// event of the first.
func TestLateGroupEventKeepsItsRequestID(t *testing.T) {
	var c causes
	group, own := types.NewJID("120363000000000001", types.GroupServer), types.NewJID("4915155500001", types.DefaultUserServer)
	tr := translate.Translator{Own: translate.Account{JID: own}}
	changes := map[string]*events.GroupInfo{
		subjectPart:                     {Name: &types.GroupName{Name: "Bread"}},
		descriptionPart:                 {Topic: &types.GroupTopic{Topic: "Only bread"}},
		ephemeralPart:                   {Ephemeral: &types.GroupEphemeral{}},
		announcePart:                    {Announce: &types.GroupAnnounce{}},
		restrictPart:                    {Locked: &types.GroupLocked{}},
		approvalPart:                    {MembershipApprovalMode: &types.GroupMembershipApprovalMode{}},
		memberAddPart:                   {UnknownChanges: []*waBinary.Node{nil, {Tag: "member_add_mode"}}},
		invitePart:                      {NewInviteLink: new("https://chat.whatsapp.com/AbCd")},
		string(event.ParticipantAdd):    {Join: []types.JID{own}},
		string(event.ParticipantRemove): {Leave: []types.JID{own}},
		otherPart:                       {UnknownChanges: []*waBinary.Node{{Tag: "revoked_membership_requests"}}},
	}
	for part := range changes {
		c.expect(event.WithRequestID(t.Context(), "call of "+part), causePatience, groupKey(group, part))
	}
	for part, evt := range changes {
		evt.JID, evt.Sender = group, &own
		if keys := changed(tr, evt); len(keys) != 1 || c.take(keys[0]) != "call of "+part {
			t.Errorf("%s: %q", part, keys)
		}
	}
}

func TestAChangeThatFailedCausesNothing(t *testing.T) {
	var c causes
	ctx := event.WithRequestID(t.Context(), "one")
	forget := c.expect(ctx, causePatience, "a", "b")
	if id := c.take("a"); id != "one" {
		t.Errorf("caused by %q", id)
	}
	forget()
	if id := c.take("b"); id != "" {
		t.Errorf("a change that failed has the id %q", id)
	}
	c.expect(t.Context(), causePatience, "a")
	if len(c.calls) != 0 {
		t.Errorf("work without a call is remembered: %v", c.calls)
	}
}
