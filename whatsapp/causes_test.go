package whatsapp

import (
	"context"
	"testing"
	"time"

	"postern/event"
)

// The network tells of these changes in its own time, after the call's answer
// or before it.
func TestTheEventOfAChangeCarriesTheIDOfTheCallThatMadeIt(t *testing.T) {
	r, second := twins(t)
	s, chat := r.session, r.contact().JID().String()
	label, err := s.CreateLabel(t.Context(), "VIP", 3)
	if err != nil {
		t.Fatal(err)
	}
	key := event.MessageKey{ID: "3EB0AA", RemoteJID: chat, FromMe: true}
	for id, call := range map[string]struct {
		kind event.Kind
		do   func(context.Context) error
	}{
		"archive": {event.ChatsUpdated, func(ctx context.Context) error { return s.Archive(ctx, chat, true, event.LastMessage{}) }},
		"pin":     {event.ChatsUpdated, func(ctx context.Context) error { return s.Pin(ctx, chat, true) }},
		"mute":    {event.ChatsUpdated, func(ctx context.Context) error { return s.Mute(ctx, chat, true, time.Time{}) }},
		"star":    {event.MessagesStar, func(ctx context.Context) error { return s.Star(ctx, key, true) }},
		"label":   {event.LabelsAssociation, func(ctx context.Context) error { return s.LabelChat(ctx, label.ID, chat, true) }},
		"rename": {event.LabelsEdit, func(ctx context.Context) error {
			_, err := s.EditLabel(ctx, label.ID, event.LabelChange{Name: new("Regulars")})
			return err
		}},
	} {
		if err := call.do(event.WithRequestID(t.Context(), id)); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		r.await("event of "+id, func(f event.Fact) bool { return f.Kind == call.kind && f.RequestID == id })
		f := second.await("event of "+id+" at the other device", func(f event.Fact) bool { return f.Kind == call.kind })
		if f.RequestID != "" {
			t.Errorf("the other device, which was not called, tells of %s", f.RequestID)
		}
	}
}

func TestTheEventOfAGroupsChangeCarriesTheIDOfTheCallThatMadeIt(t *testing.T) {
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
	_, err := s.CreateGroup(with("create"), event.NewGroup{Subject: "Cooks", Participants: []string{c.phone.JID().String()}})
	caused("create", event.GroupsUpsert, err)
	caused("subject", event.GroupsUpdate, s.SetSubject(with("subject"), c.id, "Bread"))
	caused("description", event.GroupsUpdate, s.SetDescription(with("description"), c.id, "Only bread"))
	_, err = s.InviteCode(with("invite"), c.id, true)
	caused("invite", event.GroupsUpdate, err)
	_, err = s.ChangeMembers(with("promote"), c.id, event.ParticipantPromote, []string{c.phone.JID().String()})
	caused("promote", event.GroupsParticipantsEvent, err)

	// What the other one does is nobody's call here.
	if _, err = s.InviteCode(with("read"), c.id, false); err != nil {
		t.Fatal(err)
	}
	if err := c.other.session.SetSubject(t.Context(), c.id, "Cake"); err != nil {
		t.Fatal(err)
	}
	c.owner.await("event of the other's change", func(f event.Fact) bool {
		d, ok := f.Data.([]event.GroupUpdate)
		return ok && d[0].Partial.Subject == "Cake" && f.RequestID == ""
	})
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
