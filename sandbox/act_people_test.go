package sandbox

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/e2e/bare"
	"postern/sandbox/network"
	"postern/sandbox/phone"
)

const (
	ownNumber  = "5511911111111" // of paired
	anneNumber = "5511922222222"
)

// withContacts is paired, and the client remembers names; anne is another person.
func withContacts(t *testing.T) (s *Server, own, anne *phone.Phone, c *client) {
	t.Helper()
	s = openServer(t, Config{})
	own, anne = addPhone(t, s, ownNumber), addPhone(t, s, anneNumber)
	c = linked(t, s, own)
	return s, own, anne, c
}

// linked links one more client to a phone.
func linked(t *testing.T, s *Server, p *phone.Phone) *client {
	t.Helper()
	device := bare.NewDevice()
	device.Contacts = &contactNames{NoopStore: &store.NoopStore{}, names: map[string]string{}}
	c := newClient(t, s, device)
	c.pairByQR(p)
	return c
}

func TestPresenceReachesSubscribersAndItsRecipient(t *testing.T) {
	s, _, anne, c := withContacts(t)
	does(t, s, anneNumber, `{"do":"presence","online":true,"to":"`+ownNumber+`"}`)
	if e := wait(c, 1, every[*events.Presence]); e.From != anne.LID() || e.Unavailable {
		t.Errorf("unasked: %+v", e)
	}
	if err := c.SubscribePresence(t.Context(), anne.JID()); err != nil {
		t.Fatal(err)
	}
	// What is known is notified at once, under the address that was asked for.
	if e := wait(c, 2, every[*events.Presence]); e.From != anne.JID() || e.Unavailable {
		t.Errorf("on subscribing: %+v", e)
	}
	does(t, s, anneNumber, `{"do":"presence","online":false,"lastSeen":"2026-01-31T12:00:00Z","to":"`+ownNumber+`"}`)
	want := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	if e := wait(c, 3, every[*events.Presence]); e.From != anne.JID() || !e.Unavailable || !e.LastSeen.Equal(want) {
		t.Errorf("going: %+v", e)
	}
	does(t, s, anneNumber, `{"do":"presence","online":false,"lastSeen":"hidden"}`)
	if e := wait(c, 4, every[*events.Presence]); !e.Unavailable || !e.LastSeen.IsZero() {
		t.Errorf("hidden: %+v", e)
	}
	if n := count(c, every[*events.Presence]); n != 4 {
		t.Errorf("%d presences, want one for each change", n)
	}
}

func TestTypingIsShownInItsChat(t *testing.T) {
	s, _, anne, c := withContacts(t)
	group := types.NewJID("120363000000000001", types.GroupServer)
	for i, test := range []struct {
		fields string
		chat   types.JID
		state  types.ChatPresence
		media  types.ChatPresenceMedia
	}{
		{`"state":"composing"`, anne.LID(), types.ChatPresenceComposing, types.ChatPresenceMediaText},
		{`"state":"recording"`, anne.LID(), types.ChatPresenceComposing, types.ChatPresenceMediaAudio},
		{`"state":"paused"`, anne.LID(), types.ChatPresencePaused, types.ChatPresenceMediaText},
		{`"state":"composing","group":"` + group.String() + `"`, group, types.ChatPresenceComposing, types.ChatPresenceMediaText},
	} {
		does(t, s, anneNumber, `{"do":"chat-presence","to":"`+ownNumber+`",`+test.fields+`}`)
		e := wait(c, i+1, every[*events.ChatPresence])
		if e.Chat != test.chat || e.State != test.state || e.Media != test.media ||
			e.Sender != anne.LID() || e.SenderAlt != anne.JID() || e.IsGroup != (test.chat == group) {
			t.Errorf("%s: %+v", test.fields, e)
		}
	}
}

func TestPictureIsAnnouncedAndLoadable(t *testing.T) {
	s, own, anne, c := withContacts(t)
	picture := func() (*types.ProfilePictureInfo, error) {
		return c.GetProfilePictureInfo(t.Context(), anne.JID(), nil)
	}
	if _, err := picture(); !errors.Is(err, whatsmeow.ErrProfilePictureNotSet) {
		t.Errorf("with none: %v", err)
	}
	set := does(t, s, anneNumber, `{"do":"picture","image":"/9j/4AAQ","to":"`+ownNumber+`"}`)
	e := wait(c, 1, every[*events.Picture])
	if e.JID != anne.LID() || e.PictureID != set["pictureId"] || e.PictureID == "" || e.Remove {
		t.Errorf("set: %+v, answered %v", e, set)
	}
	info, err := picture()
	if err != nil || info.ID != e.PictureID || info.Type != "image" {
		t.Fatalf("picture %+v, %v", info, err)
	}
	if got := fetch(t, s, info.URL); got != "\xff\xd8\xff\xe0\x00\x10" {
		t.Errorf("loaded %q", got)
	}
	does(t, s, anneNumber, `{"do":"picture","remove":true,"to":"`+ownNumber+`"}`)
	if e := wait(c, 2, every[*events.Picture]); !e.Remove || e.JID != anne.LID() {
		t.Errorf("removed: %+v", e)
	}
	if _, err := picture(); !errors.Is(err, whatsmeow.ErrProfilePictureNotSet) {
		t.Errorf("after the removal: %v", err)
	}
	does(t, s, ownNumber, `{"do":"picture"}`)
	if e := wait(c, 3, every[*events.Picture]); e.JID != own.JID() || e.PictureID != "" || e.Remove {
		t.Errorf("own: %+v", e)
	}
}

func fetch(t *testing.T, s *Server, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := httpClient(t, s.Endpoint()).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d, %v", url, answer.StatusCode, err)
	}
	return string(body)
}

func TestGroupPictureByActAndByClient(t *testing.T) {
	s, own, anne, c := withContacts(t)
	group := types.NewJID("120363000000000001", types.GroupServer)
	does(t, s, anneNumber, `{"do":"picture","group":"`+group.String()+`","to":"`+ownNumber+`"}`)
	if e := wait(c, 1, every[*events.Picture]); e.JID != group || e.Author != anne.LID() || e.PictureID == "" {
		t.Errorf("by act: %+v", e)
	}
	id, err := c.SetGroupPhoto(t.Context(), group, []byte("\xff\xd8 a picture"))
	if err != nil {
		t.Fatal(err)
	}
	if e := wait(c, 2, every[*events.Picture]); e.JID != group || e.Author != own.LID() || e.PictureID != id {
		t.Errorf("by client: %+v, want picture %s", e, id)
	}
	if info, err := c.GetProfilePictureInfo(t.Context(), group, nil); err != nil || info.ID != id {
		t.Errorf("picture %+v, %v", info, err)
	}
	if _, err := c.SetGroupPhoto(t.Context(), group, nil); err != nil {
		t.Fatal(err)
	}
	if e := wait(c, 3, every[*events.Picture]); !e.Remove || e.JID != group {
		t.Errorf("removed by client: %+v", e)
	}
	if _, err := c.GetProfilePictureInfo(t.Context(), group, nil); !errors.Is(err, whatsmeow.ErrProfilePictureNotSet) {
		t.Errorf("after the removal: %v", err)
	}
	if _, err := c.SetGroupPhoto(t.Context(), group, []byte("a text")); !errors.Is(err, whatsmeow.ErrInvalidImageFormat) {
		t.Errorf("a picture that is no JPEG: %v", err)
	}
}

func TestGroupPictureReachesEveryMemberOnce(t *testing.T) {
	s, own, anne, c := withContacts(t)
	jid, _, err := s.CreateGroup(anne.JID(), network.NewGroup{Subject: "Friends", Members: []types.JID{own.JID()}})
	if err != nil {
		t.Fatal(err)
	}
	id := does(t, s, anneNumber, `{"do":"picture","group":"`+jid.String()+`"}`)["pictureId"]
	if e := wait(c, 1, every[*events.Picture]); e.JID != jid || e.PictureID != id {
		t.Errorf("received %+v, want picture %s", e, id)
	}
	does(t, s, anneNumber, `{"do":"picture","group":"`+jid.String()+`","to":"`+ownNumber+`"}`)
	does(t, s, anneNumber, `{"do":"about","to":"`+ownNumber+`"}`)
	wait(c, 1, every[*events.UserAbout]) // behind all pictures
	if n := count(c, every[*events.Picture]); n != 2 {
		t.Errorf("%d pictures, want each once", n)
	}
}

func TestAboutIsAnnouncedAndAnswered(t *testing.T) {
	s, own, anne, c := withContacts(t)
	does(t, s, anneNumber, `{"do":"about","text":"baking","to":"`+ownNumber+`"}`)
	if e := wait(c, 1, every[*events.UserAbout]); e.JID != anne.LID() || e.Status != "baking" {
		t.Errorf("received %+v", e)
	}
	about := "selling bread"
	if err := c.SetStatusMessage(t.Context(), types.SetStatusInput{Text: &about}); err != nil {
		t.Fatal(err)
	}
	infos, err := c.GetUserInfo(t.Context(), []types.JID{anne.JID(), own.JID()})
	if err != nil {
		t.Fatal(err)
	}
	if infos[anne.JID()].Status != "baking" || infos[own.JID()].Status != about {
		t.Errorf("answered %+v", infos)
	}
}

func TestChangedIdentityIsAnnouncedAndUsed(t *testing.T) {
	s, _, anne, c := withContacts(t)
	hers := linked(t, s, anne)
	if _, err := anne.SendText(t.Context(), c.Store.ID.ToNonAD(), "before"); err != nil {
		t.Fatal(err)
	}
	wait(c, 1, isText("before"))
	old, err := anne.Keys()
	if err != nil {
		t.Fatal(err)
	}
	does(t, s, anneNumber, `{"do":"identity-change","to":"`+ownNumber+`"}`)
	if e := wait(c, 1, every[*events.IdentityChange]); e.JID != anne.LID() || e.Implicit {
		t.Errorf("received %+v", e)
	}
	wait(hers, 1, every[*events.LoggedOut])
	does(t, s, anneNumber, `{"do":"text","text":"after","to":"`+ownNumber+`"}`)
	wait(c, 1, isText("after"))
	if now, err := anne.Keys(); err != nil || now.IdentityPub() == old.IdentityPub() {
		t.Errorf("the identity is the same (%v)", err)
	}
	// The other direction needs a session with the new phone too.
	c.sendText(anne.JID(), "to the new phone")
	eventually(t, "the new phone reads", func() bool {
		return slices.ContainsFunc(anne.Received(), func(r phone.Received) bool { return r.Text == "to the new phone" })
	})
}

func TestNamesComeWithMessages(t *testing.T) {
	s, _, anne, c := withContacts(t)
	does(t, s, anneNumber, `{"do":"push-name","name":"Anne B","to":"`+ownNumber+`"}`)
	named := func(e *events.PushName) bool { return e.NewPushName == "Anne B" }
	if e := wait(c, 1, named); e.JID != anne.LID() || e.Message == nil {
		t.Errorf("push name: %+v", e)
	}
	does(t, s, anneNumber, `{"do":"business-name","name":"Anne's Mill","to":"`+ownNumber+`"}`)
	if e := wait(c, 1, every[*events.BusinessName]); e.JID.ToNonAD() != anne.LID() || e.NewBusinessName != "Anne's Mill" || e.Message == nil {
		t.Errorf("business name: %+v", e)
	}
}

func TestBusinessNameIsAnsweredToLookUps(t *testing.T) {
	s, _, anne, c := withContacts(t)
	does(t, s, anneNumber, `{"do":"business-name","name":"Anne's Mill"}`)
	found, err := c.IsOnWhatsApp(t.Context(), []string{"+" + anneNumber})
	if err != nil || len(found) != 1 || found[0].VerifiedName == nil || found[0].VerifiedName.Details.GetVerifiedName() != "Anne's Mill" {
		t.Errorf("IsOnWhatsApp: %+v, %v", found, err)
	}
	if _, err := c.GetUserInfo(t.Context(), []types.JID{anne.JID()}); err != nil {
		t.Fatal(err)
	}
	if e := wait(c, 1, every[*events.BusinessName]); e.JID != anne.JID() || e.NewBusinessName != "Anne's Mill" {
		t.Errorf("received %+v", e)
	}
}
