package sandbox

import (
	"errors"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

func TestActsOnAChannelReachTheClient(t *testing.T) {
	s, _, _, c := withContacts(t)
	made := does(t, s, ownNumber, `{"do":"newsletter-join","name":"Bread","description":"daily"}`)["newsletter"]
	join := wait(c, 1, every[*events.NewsletterJoin])
	jid := join.ID
	if jid.String() != made || jid.Server != types.NewsletterServer || join.State.Type != types.NewsletterStateActive {
		t.Errorf("joined %+v, answered %s", join, made)
	}
	if meta := join.ThreadMeta; meta.Name.Text != "Bread" || meta.Description.Text != "daily" || meta.SubscriberCount != 1 || meta.CreationTime.IsZero() {
		t.Errorf("joined %+v", meta)
	}
	if v := join.ViewerMeta; v == nil || v.Role != types.NewsletterRoleSubscriber || v.Mute != types.NewsletterMuteOff {
		t.Errorf("as %+v", v)
	}
	for i, want := range []types.NewsletterMuteState{types.NewsletterMuteOn, types.NewsletterMuteOff} {
		muted := []string{"true", "false"}[i]
		does(t, s, ownNumber, `{"do":"newsletter-mute","newsletter":"`+made+`","muted":`+muted+`}`)
		if e := wait(c, i+1, every[*events.NewsletterMuteChange]); e.ID != jid || e.Mute != want {
			t.Errorf("muted %s: %+v", muted, e)
		}
	}
	does(t, s, ownNumber, `{"do":"newsletter-live-update","newsletter":"`+made+`","serverId":7,"views":12,"reactions":{"👍":3,"🍞":1}}`)
	live := wait(c, 1, every[*events.NewsletterLiveUpdate])
	if live.JID != jid || len(live.Messages) != 1 {
		t.Fatalf("live %+v", live)
	}
	if m := live.Messages[0]; m.MessageServerID != 7 || m.ViewsCount != 12 || m.ReactionCounts["👍"] != 3 || m.ReactionCounts["🍞"] != 1 {
		t.Errorf("live %+v", m)
	}
	does(t, s, ownNumber, `{"do":"newsletter-leave","newsletter":"`+made+`"}`)
	if e := wait(c, 1, every[*events.NewsletterLeave]); e.ID != jid || e.Role != types.NewsletterRoleGuest {
		t.Errorf("left %+v", e)
	}
}

func TestChannelPublishesAndEdits(t *testing.T) {
	s, _, _, c := withContacts(t)
	const jid = "120363000000000009@newsletter"
	id := does(t, s, ownNumber, `{"do":"newsletter-message","newsletter":"`+jid+`","text":"fresh"}`)["id"]
	if e := wait(c, 1, isText("fresh")); e.Info.ID != id || e.Info.Chat.String() != jid || e.Info.ServerID != 100 {
		t.Errorf("published %s: %+v", id, e.Info)
	}
	does(t, s, ownNumber, `{"do":"newsletter-message","newsletter":"`+jid+`","text":"fresher","id":"`+id+`"}`)
	e := wait(c, 1, isText("fresher"))
	if e.Info.ID != id || e.Info.Edit != types.EditAttributeAdminEdit || e.NewsletterMeta == nil || e.NewsletterMeta.EditTS.IsZero() {
		t.Errorf("edited %+v, %+v", e.Info, e.NewsletterMeta)
	}
}

func TestClientFollowsMutesAndLeavesAChannel(t *testing.T) {
	s, own, _, c := withContacts(t)
	second := linked(t, s, own)
	jid := types.NewJID("120363000000000009", types.NewsletterServer)
	does(t, s, anneNumber, `{"do":"newsletter-join","newsletter":"`+jid.String()+`","name":"Bread"}`)
	info, err := c.GetNewsletterInfo(t.Context(), jid)
	if err != nil || info.ThreadMeta.Name.Text != "Bread" || info.ViewerMeta == nil || info.ViewerMeta.Role != types.NewsletterRoleGuest {
		t.Fatalf("before following: %+v, %v", info, err)
	}
	if invited, err := c.GetNewsletterInfoWithInvite(t.Context(), info.ThreadMeta.InviteCode); err != nil || invited.ID != jid || invited.ViewerMeta != nil {
		t.Errorf("by invite: %+v, %v", invited, err)
	}
	if err := c.FollowNewsletter(t.Context(), jid); err != nil {
		t.Fatal(err)
	}
	if e := wait(second, 1, every[*events.NewsletterJoin]); e.ID != jid || e.ThreadMeta.Name.Text != "Bread" || e.ThreadMeta.SubscriberCount != 2 {
		t.Errorf("the other device received %+v", e)
	}
	if err := c.NewsletterToggleMute(t.Context(), jid, true); err != nil {
		t.Fatal(err)
	}
	list, err := c.GetSubscribedNewsletters(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != jid || list[0].ViewerMeta.Mute != types.NewsletterMuteOn {
		t.Errorf("followed %+v, %v", list, err)
	}
	if err := c.UnfollowNewsletter(t.Context(), jid); err != nil {
		t.Fatal(err)
	}
	wait(second, 1, every[*events.NewsletterLeave])
	if list, err := c.GetSubscribedNewsletters(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("still followed %+v, %v", list, err)
	}
	if n := count(c, every[*events.NewsletterJoin]); n != 0 {
		t.Errorf("the device that followed received %d events", n)
	}
}

func TestClientOwnsTheChannelThatItMakes(t *testing.T) {
	_, _, _, c := withContacts(t)
	made, err := c.CreateNewsletter(t.Context(), whatsmeow.CreateNewsletterParams{Name: "Mill", Description: "flour"})
	if err != nil || made.ThreadMeta.Description.Text != "flour" || made.ViewerMeta == nil || made.ViewerMeta.Role != types.NewsletterRoleOwner {
		t.Fatalf("made %+v, %v", made, err)
	}
	if d, err := c.NewsletterSubscribeLiveUpdates(t.Context(), made.ID); err != nil || d <= 0 {
		t.Errorf("live updates for %v, %v", d, err)
	}
	if _, err := c.GetNewsletterInfoWithInvite(t.Context(), "nothing"); !errors.Is(err, whatsmeow.ErrIQNotFound) {
		t.Errorf("an unknown invite: %v", err)
	}
	if err := c.FollowNewsletter(t.Context(), types.NewJID("x", types.NewsletterServer)); !errors.Is(err, whatsmeow.ErrIQBadRequest) {
		t.Errorf("no address of a channel: %v", err)
	}
}
