package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
)

func TestANewsletterIsFoundFollowedMutedAndLeft(t *testing.T) {
	r := newRig(t)
	r.pair()
	s := r.session
	jid := fmt.Sprintf("1203630000%05d@newsletter", numbers.Add(1))
	found, err := s.Account.Channels.Channel(t.Context(), jid)
	if err != nil || found.JID != jid || found.Name == "" || found.Role != "guest" {
		t.Fatalf("found %+v, %v", found, err)
	}
	if c, err := s.Account.Channels.InvitedChannel(t.Context(), found.InviteCode); err != nil || c.JID != jid || c.Role != "" || c.Muted != nil {
		t.Errorf("by its invite %+v, %v", c, err)
	}
	for _, step := range []struct {
		what string
		do   func() error
		role string
		mute bool
	}{
		{"follow", func() error { return s.Account.Channels.FollowChannel(t.Context(), jid, true) }, "subscriber", false},
		{"mute", func() error { return s.Account.Channels.MuteChannel(t.Context(), jid, true) }, "subscriber", true},
		{"unmute", func() error { return s.Account.Channels.MuteChannel(t.Context(), jid, false) }, "subscriber", false},
		{"unfollow", func() error { return s.Account.Channels.FollowChannel(t.Context(), jid, false) }, "guest", false},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		// The sandbox reports it again: nothing is kept here.
		if c, err := s.Account.Channels.Channel(t.Context(), jid); err != nil || c.Role != step.role || *c.Muted != step.mute {
			t.Errorf("after %s: %+v, %v", step.what, c, err)
		}
		all, err := s.Account.Channels.FollowedChannels(t.Context())
		if listed := len(all) == 1 && all[0].JID == jid; err != nil || listed != (step.role == "subscriber") {
			t.Errorf("after %s: followed %+v, %v", step.what, all, err)
		}
	}
}

// The network notifies the account's other devices, not the one that asked.
func TestNewsletterChangesReachOtherDevices(t *testing.T) {
	r, second := twins(t)
	jid := fmt.Sprintf("1203630000%05d@newsletter", numbers.Add(1))
	if err := r.session.Account.Channels.FollowChannel(t.Context(), jid, true); err != nil {
		t.Fatal(err)
	}
	second.await("join", func(f event.Fact) bool {
		d, ok := f.Data.(event.NewsletterUpdate)
		return ok && d.Type == event.NewsletterJoin && d.NewsletterJID == jid
	})
	if err := r.session.Account.Channels.MuteChannel(t.Context(), jid, true); err != nil {
		t.Fatal(err)
	}
	second.await("mute", func(f event.Fact) bool {
		d, ok := f.Data.(event.NewsletterUpdate)
		return ok && d.Type == event.NewsletterMuteChange && d.NewsletterJID == jid
	})
}

func TestAnUnknownInviteToANewsletterIsRefused(t *testing.T) {
	r := newRig(t)
	r.pair()
	if c, err := r.session.Account.Channels.InvitedChannel(t.Context(), "nothing"); !errors.Is(err, event.ErrRefused) {
		t.Errorf("found %+v, %v", c, err)
	}
}

// The sandbox has a newsletter for every address; WhatsApp may answer with none.
func TestAnAnswerWithoutANewsletterIsARefusal(t *testing.T) {
	r := newRig(t)
	r.pair()
	_, err := r.session.Account.Channels.findChannel(t.Context(), func(context.Context, *whatsmeow.Client) (*types.NewsletterMetadata, error) {
		return nil, nil //nolint:nilnil // what the library returns then
	})
	if !errors.Is(err, event.ErrRefused) {
		t.Errorf("got %v", err)
	}
}
