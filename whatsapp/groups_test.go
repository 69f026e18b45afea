package whatsapp

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"slices"
	"strings"
	"testing"

	"postern/event"
)

func TestGroupCreationIsReportedOnce(t *testing.T) {
	c := newCircle(t)
	for _, r := range []*rig{c.owner, c.other} {
		r.await("the group", func(f event.Fact) bool { return f.Kind == event.GroupsUpsert && aboutGroup(f, c.id) })
		r.await("its description", func(f event.Fact) bool { return f.Kind == event.GroupsUpdate && aboutGroup(f, c.id) })
		if n := r.count(c.id, event.GroupsUpsert); n != 1 {
			t.Errorf("%d reports of the group", n)
		}
		if n := r.count(c.id, event.GroupsUpdate); n != 1 {
			t.Errorf("%d reports of the description", n)
		}
	}
	if g := c.seen(t); g.Subject != "Bakers" || *g.Desc != "Bread and more" || len(g.Participants) != 2 {
		t.Errorf("the other sees %+v", g)
	}
	all, err := c.other.session.Account.Groups.JoinedGroups(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != c.id {
		t.Errorf("the other is in %+v, %v", all, err)
	}
}

func TestNewGroupListsPeopleNotAdded(t *testing.T) {
	r := newRig(t)
	r.pair()
	known := r.contact().JID().String()
	made, err := r.session.Account.Groups.CreateGroup(t.Context(), event.NewGroup{Subject: "Some", Participants: []string{known, "4915550000@s.whatsapp.net"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(made.NotAdded) != 1 || made.NotAdded[0].JID != "4915550000@s.whatsapp.net" || made.NotAdded[0].Status != 404 {
		t.Errorf("not added: %+v", made.NotAdded)
	}
	if made.Size != 2 || len(made.Participants) != 2 {
		t.Errorf("members: %+v", made.Participants)
	}
}

func TestGroupTextsChangeForAllMembers(t *testing.T) {
	c := newCircle(t)
	s, yes, day := c.owner.session, true, int64(86_400)
	for what, err := range map[string]error{
		"subject":     s.Account.Groups.SetSubject(t.Context(), c.id, "Brewers"),
		"description": s.Account.Groups.SetDescription(t.Context(), c.id, "Beer"),
		"settings": s.Account.Groups.ChangeSettings(t.Context(), c.id, event.GroupSettings{
			Announce: &yes, Restrict: &yes, MemberAddMode: new(false), JoinApprovalMode: &yes, EphemeralDuration: &day,
		}),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	g := c.seen(t)
	if g.Subject != "Brewers" || *g.Desc != "Beer" || !*g.Announce || !*g.Restrict || *g.MemberAddMode || !*g.JoinApprovalMode || *g.EphemeralDuration != day {
		t.Errorf("the other sees %+v", g)
	}
	c.other.await("subject", func(f event.Fact) bool {
		d, ok := f.Data.([]event.GroupUpdate)
		return ok && d[0].Partial.Subject == "Brewers"
	})
	if err := s.Account.Groups.SetDescription(t.Context(), c.id, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Account.Groups.ChangeSettings(t.Context(), c.id, event.GroupSettings{Announce: new(false), EphemeralDuration: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	if g := c.seen(t); g.Desc != nil || *g.Announce || *g.EphemeralDuration != 0 || !*g.Restrict {
		t.Errorf("the other sees %+v", g)
	}
}

func TestWhatAMemberMayNotDoIsRefused(t *testing.T) {
	c := newCircle(t)
	if err := c.owner.session.Account.Groups.ChangeSettings(t.Context(), c.id, event.GroupSettings{Restrict: new(true)}); err != nil {
		t.Fatal(err)
	}
	s := c.other.session
	_, codeErr := s.Account.Groups.InviteCode(t.Context(), c.id, false)
	_, membersErr := s.Account.Groups.ChangeMembers(t.Context(), c.id, event.ParticipantPromote, []string{c.phone.JID().String()})
	_, strangeErr := s.Account.Groups.Group(t.Context(), "120363999999999999@g.us")
	for what, err := range map[string]error{
		"subject": s.Account.Groups.SetSubject(t.Context(), c.id, "Mine"), "code": codeErr, "members": membersErr, "stranger": strangeErr,
		"settings": s.Account.Groups.ChangeSettings(t.Context(), c.id, event.GroupSettings{Announce: new(true)}),
	} {
		if !errors.Is(err, event.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if g := c.seen(t); g.Subject != "Bakers" || *g.Announce {
		t.Errorf("changed all the same: %+v", g)
	}
}

func TestErrorNamesSettingsAlreadyChanged(t *testing.T) {
	c := newCircle(t)
	err := c.other.session.Account.Groups.ChangeSettings(t.Context(), c.id, event.GroupSettings{EphemeralDuration: new(int64(604_800)), Announce: new(true)})
	if !errors.Is(err, event.ErrRefused) || !strings.Contains(err.Error(), "already changed: ephemeralDuration;") {
		t.Errorf("got %v", err)
	}
	if g := c.seen(t); *g.EphemeralDuration != 604_800 || *g.Announce {
		t.Errorf("the group is %+v", g)
	}
}

func TestMembersComeRiseFallAndGo(t *testing.T) {
	c := newCircle(t)
	third := c.owner.contact().JID().String()
	change := func(action event.ParticipantAction, who string, want int) {
		t.Helper()
		results, err := c.owner.session.Account.Groups.ChangeMembers(t.Context(), c.id, action, []string{who})
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != 1 || results[0].JID != who || results[0].Status != want {
			t.Errorf("%s %s: %+v, want %d", action, who, results, want)
		}
	}
	member := func(who string) *event.Participant {
		g := c.seen(t)
		i := slices.IndexFunc(g.Participants, func(p event.Participant) bool { return p.ID == who })
		if i < 0 {
			return nil
		}
		return &g.Participants[i]
	}
	change(event.ParticipantAdd, third, event.MemberChanged)
	if member(third) == nil {
		t.Error("not added")
	}
	change(event.ParticipantAdd, third, 409)
	change(event.ParticipantAdd, "4915550000@s.whatsapp.net", 404)
	change(event.ParticipantPromote, third, event.MemberChanged)
	if m := member(third); m == nil || !m.IsAdmin {
		t.Errorf("promoted %+v", m)
	}
	change(event.ParticipantDemote, third, event.MemberChanged)
	if m := member(third); m == nil || m.IsAdmin {
		t.Errorf("demoted %+v", m)
	}
	change(event.ParticipantRemove, third, event.MemberChanged)
	if member(third) != nil {
		t.Error("not removed")
	}
	for _, action := range []event.ParticipantAction{event.ParticipantAdd, event.ParticipantPromote, event.ParticipantDemote, event.ParticipantRemove} {
		c.owner.await(string(action), func(f event.Fact) bool {
			d, ok := f.Data.(event.GroupParticipantsUpdate)
			return ok && d.Action == action && d.Participants[0].ID == third
		})
	}
	if n := c.owner.count(c.id, event.GroupsParticipantsEvent); n != 4 {
		t.Errorf("%d reports of 4 changes", n)
	}
}

func TestJoinAndLeaveAGroup(t *testing.T) {
	c := newCircle(t)
	owner, other := c.owner.session.Account.Groups, c.other.session.Account.Groups
	if err := other.LeaveGroup(t.Context(), c.id); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Group(t.Context(), c.id); !errors.Is(err, event.ErrRefused) {
		t.Errorf("the group shows itself to who left: %v", err)
	}
	old, err := owner.InviteCode(t.Context(), c.id, false)
	if err != nil {
		t.Fatal(err)
	}
	code, err := owner.InviteCode(t.Context(), c.id, true)
	if err != nil || code == old || code == "" {
		t.Fatalf("codes %q, %q: %v", old, code, err)
	}
	if _, _, err := other.JoinGroup(t.Context(), old); !errors.Is(err, event.ErrRefused) {
		t.Errorf("joined by a revoked code: %v", err)
	}
	if g, err := other.InvitedGroup(t.Context(), code); err != nil || g.ID != c.id || g.Subject != "Bakers" {
		t.Errorf("invited to %+v, %v", g, err)
	}
	if group, joined, err := other.JoinGroup(t.Context(), code); err != nil || !joined || group != c.id {
		t.Errorf("joined %s, %v, %v", group, joined, err)
	}
	if g := c.seen(t); len(g.Participants) != 2 {
		t.Errorf("members %+v", g.Participants)
	}
}

func TestJoinRequestWaitsForAnAdmin(t *testing.T) {
	c := newCircle(t)
	if err := c.owner.session.Account.Groups.ChangeSettings(t.Context(), c.id, event.GroupSettings{JoinApprovalMode: new(true)}); err != nil {
		t.Fatal(err)
	}
	if err := c.other.session.Account.Groups.LeaveGroup(t.Context(), c.id); err != nil {
		t.Fatal(err)
	}
	code, err := c.owner.session.Account.Groups.InviteCode(t.Context(), c.id, false)
	if err != nil {
		t.Fatal(err)
	}
	who := c.phone.JID().String()
	for _, approve := range []bool{false, true} {
		if group, joined, err := c.other.session.Account.Groups.JoinGroup(t.Context(), code); err != nil || joined || group != c.id {
			t.Errorf("joined %s, %v, %v", group, joined, err)
		}
		waiting, err := c.owner.session.Account.Groups.JoinRequests(t.Context(), c.id)
		if err != nil || len(waiting) != 1 || waiting[0].JID != who || waiting[0].LID != c.phone.LID().String() || waiting[0].RequestedAt.IsZero() {
			t.Errorf("waiting: %+v, %v", waiting, err)
		}
		decided, err := c.owner.session.Account.Groups.DecideRequests(t.Context(), c.id, approve, []string{who})
		if err != nil || len(decided) != 1 || decided[0].JID != who || decided[0].Status != event.MemberChanged {
			t.Errorf("decided: %+v, %v", decided, err)
		}
		if _, err := c.other.session.Account.Groups.Group(t.Context(), c.id); (err == nil) != approve {
			t.Errorf("approved %t: the group says %v", approve, err)
		}
	}
}

func TestTheOthersSeeAGroupsNewPicture(t *testing.T) {
	c := newCircle(t)
	var picture bytes.Buffer
	if err := jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	id, err := c.owner.session.Account.Groups.SetGroupPicture(t.Context(), c.id, picture.Bytes())
	if err != nil || id == "" {
		t.Fatalf("picture %q: %v", id, err)
	}
	for _, r := range []*rig{c.owner, c.other} {
		r.await("the picture", func(f event.Fact) bool {
			d, ok := f.Data.(event.PictureUpdate)
			return ok && d.JID == c.id && d.PictureID == id && !d.Remove
		})
	}
	if _, err := c.owner.session.Account.Groups.SetGroupPicture(t.Context(), c.id, []byte("no picture")); !errors.Is(err, event.ErrRefused) {
		t.Errorf("what is no picture: %v", err)
	}
	if _, err := c.owner.session.Account.Groups.SetGroupPicture(t.Context(), c.id, nil); err != nil {
		t.Fatal(err)
	}
	c.other.await("its end", func(f event.Fact) bool {
		d, ok := f.Data.(event.PictureUpdate)
		return ok && d.JID == c.id && d.Remove
	})
}

func TestGroupChangesNeedAConnection(t *testing.T) {
	c := newCircle(t)
	c.owner.session.Disconnect()
	if err := c.owner.session.Account.Groups.SetSubject(t.Context(), c.id, "Offline"); !errors.Is(err, event.ErrNotConnected) {
		t.Errorf("got %v", err)
	}
	if g := c.seen(t); g.Subject != "Bakers" {
		t.Errorf("subject %q", g.Subject)
	}
}
