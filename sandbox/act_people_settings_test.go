package sandbox

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/e2e/bare"
)

func TestBlockingReachesTheOtherDevices(t *testing.T) {
	s, own, anne, c := withContacts(t)
	second := linked(t, s, own)
	does(t, s, ownNumber, `{"do":"blocklist","action":"block","target":"`+anneNumber+`"}`)
	blocked := wait(c, 1, every[*events.Blocklist])
	if len(blocked.Changes) != 1 || blocked.Changes[0] != (events.BlocklistChange{JID: anne.LID(), Action: events.BlocklistChangeActionBlock}) {
		t.Errorf("received %+v", blocked)
	}
	list, err := c.GetBlocklist(t.Context())
	if err != nil || !slices.Equal(list.JIDs, []types.JID{anne.LID()}) || list.DHash != blocked.DHash {
		t.Errorf("listed %+v, %v; want hash %s", list, err, blocked.DHash)
	}
	list, err = c.UpdateBlocklist(t.Context(), anne.JID(), events.BlocklistChangeActionUnblock)
	if err != nil || len(list.JIDs) != 0 || list.DHash == blocked.DHash {
		t.Errorf("after unblocking %+v, %v", list, err)
	}
	e := wait(second, 1, func(e *events.Blocklist) bool { return e.PrevDHash == blocked.DHash })
	if len(e.Changes) != 1 || e.Changes[0].Action != events.BlocklistChangeActionUnblock || e.DHash != list.DHash {
		t.Errorf("the other device received %+v", e)
	}
	does(t, s, ownNumber, `{"do":"blocklist"}`)
	full := wait(c, 2, every[*events.Blocklist])
	if full.Action != events.BlocklistActionModify || len(full.Changes) != 0 || full.DHash != list.DHash {
		t.Errorf("the whole list: %+v", full)
	}
}

func TestPrivacySettingsAreAnnouncedAndAnswered(t *testing.T) {
	s, own, _, c := withContacts(t)
	second := linked(t, s, own)
	does(t, s, ownNumber, `{"do":"privacy","name":"last","value":"none"}`)
	e := wait(c, 1, every[*events.PrivacySettings])
	if !e.LastSeenChanged || e.ProfileChanged {
		t.Errorf("received %+v", e)
	}
	if _, err := c.SetPrivacySetting(t.Context(), types.PrivacySettingTypeOnline, types.PrivacySettingMatchLastSeen); err != nil {
		t.Fatal(err)
	}
	wait(second, 1, func(e *events.PrivacySettings) bool { return e.OnlineChanged })
	got, err := c.TryFetchPrivacySettings(t.Context(), true)
	want := types.PrivacySettings{
		GroupAdd: "all", LastSeen: "none", Status: "all", Profile: "all", ReadReceipts: "all", CallAdd: "all",
		Online: "match_last_seen", Messages: "all", Defense: "off", Stickers: "contacts",
	}
	if err != nil || *got != want {
		t.Errorf("answered %+v, %v", got, err)
	}
	if _, err := c.SetPrivacySetting(t.Context(), types.PrivacySettingTypeOnline, types.PrivacySettingNone); err == nil {
		t.Error("a value that the setting does not allow was taken")
	}
}

func TestTimelockIsAnnounced(t *testing.T) {
	s, _, _, c := withContacts(t)
	before := time.Now()
	does(t, s, ownNumber, `{"do":"reachout-timelock","seconds":3600,"type":"BIZ_QUALITY"}`)
	e := wait(c, 1, every[*events.NotifyAccountReachoutTimelock])
	if !e.IsActive || e.EnforcementType != "BIZ_QUALITY" || e.TimeEnforcementEnds.Before(before.Add(59*time.Minute)) {
		t.Errorf("locked: %+v", e)
	}
	does(t, s, ownNumber, `{"do":"reachout-timelock"}`)
	if e := wait(c, 2, every[*events.NotifyAccountReachoutTimelock]); e.IsActive || e.EnforcementType != "DEFAULT" || !e.TimeEnforcementEnds.IsZero() {
		t.Errorf("lifted: %+v", e)
	}
}

// tokens keeps privacy tokens in memory.
type tokens struct {
	store.PrivacyTokenStore

	mu sync.Mutex
	of map[types.JID]store.PrivacyToken
}

func (s *tokens) PutPrivacyTokens(_ context.Context, all ...store.PrivacyToken) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range all {
		s.of[t.User] = t
	}
	return nil
}

func (s *tokens) GetPrivacyToken(_ context.Context, user types.JID) (*store.PrivacyToken, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.of[user]; ok {
		return &t, nil
	}
	return nil, nil
}

func TestLockedAccountMayWriteToKnownPeople(t *testing.T) {
	s := openServer(t, Config{})
	own, anne, bob := addPhone(t, s, ownNumber), addPhone(t, s, anneNumber), addPhone(t, s, "5511933333333")
	device := bare.NewDevice()
	device.Contacts = &contactNames{NoopStore: &store.NoopStore{}, names: map[string]string{}}
	device.PrivacyTokens = &tokens{PrivacyTokenStore: device.PrivacyTokens, of: map[types.JID]store.PrivacyToken{}}
	c := newClient(t, s, device)
	c.pairByQR(own)
	sends := func(to types.JID) error {
		_, err := c.SendMessage(t.Context(), to, text("hello"))
		return err
	}
	locked := func(to types.JID) bool {
		err := sends(to)
		if err != nil && err.Error() != "server returned error 463" {
			t.Fatal(err)
		}
		return err != nil
	}
	if locked(anne.JID()) {
		t.Error("refused without a lock")
	}
	does(t, s, ownNumber, `{"do":"reachout-timelock","seconds":3600,"silent":true}`)
	if !locked(anne.JID()) || !locked(bob.JID()) {
		t.Error("a stranger can be written to")
	}
	does(t, s, anneNumber, `{"do":"text","to":"`+ownNumber+`","text":"hi"}`)
	if locked(anne.JID()) {
		t.Error("who wrote to the account cannot be answered")
	}
	does(t, s, bob.Number(), `{"do":"privacy-token","to":"`+ownNumber+`"}`)
	eventually(t, "the token", func() bool { return !locked(bob.JID()) })
	does(t, s, ownNumber, `{"do":"reachout-timelock"}`)
	if e := wait(c, 1, every[*events.NotifyAccountReachoutTimelock]); e.IsActive {
		t.Error("a silent lock was announced")
	}
}

func TestLockEndsByTimeOrLifting(t *testing.T) {
	s, _, anne, c := withContacts(t)
	locked := func() bool {
		_, err := c.SendMessage(t.Context(), anne.JID(), text("hello"))
		return err != nil
	}
	does(t, s, ownNumber, `{"do":"reachout-timelock","seconds":3600}`)
	if !locked() {
		t.Error("not locked")
	}
	does(t, s, ownNumber, `{"do":"reachout-timelock","seconds":0}`)
	if locked() {
		t.Error("locked after it was lifted")
	}
	does(t, s, ownNumber, `{"do":"reachout-timelock","seconds":1}`)
	eventually(t, "the end of the lock", func() bool { return !locked() })
}

func TestActsAboutPeopleRefuseBadFields(t *testing.T) {
	s := openServer(t, Config{})
	addPhone(t, s, ownNumber)
	const to = `"to":"` + anneNumber + `"`
	for _, body := range []string{
		`{"do":"presence","to":"x"}`,
		`{"do":"presence","lastSeen":"yesterday"}`,
		`{"do":"chat-presence","state":"composing"}`,
		`{"do":"chat-presence",` + to + `,"state":"sleeping"}`,
		`{"do":"chat-presence",` + to + `,"state":"paused","group":"5511@s.whatsapp.net"}`,
		`{"do":"picture","image":"&"}`,
		`{"do":"picture","image":"aGVsbG8="}`,
		`{"do":"picture","group":"x"}`,
		`{"do":"identity-change"}`,
		`{"do":"push-name"}`,
		`{"do":"business-name",` + to + `}`,
		`{"do":"blocklist","action":"forget",` + `"target":"` + anneNumber + `"}`,
		`{"do":"blocklist","action":"block"}`,
		`{"do":"privacy","name":"shoe","value":"all"}`,
		`{"do":"privacy","name":"online","value":"none"}`,
		`{"do":"reachout-timelock","seconds":-1}`,
		`{"do":"privacy-token"}`,
		`{"do":"call-offer"}`,
		`{"do":"call-offer",` + to + `,"group":"5511"}`,
		`{"do":"call-terminate"}`,
		`{"do":"newsletter-join"}`,
		`{"do":"newsletter-join","newsletter":"120363@g.us"}`,
		`{"do":"newsletter-leave"}`,
		`{"do":"newsletter-mute","muted":true}`,
		`{"do":"newsletter-live-update","newsletter":"1@newsletter","views":-1}`,
		`{"do":"newsletter-live-update","newsletter":"1@newsletter","reactions":{"":1}}`,
		`{"do":"newsletter-message","newsletter":"1@newsletter"}`,
	} {
		var answer controlError
		if got := call(t, s, "POST", "/sandbox/phones/"+ownNumber+"/act", body, &answer); got != 422 || answer.Code != "INVALID_VALUE" {
			t.Errorf("%s: %d %+v", body, got, answer)
		}
	}
}

func TestRestartKeepsProfilesAndChannels(t *testing.T) {
	cfg := Config{Path: t.TempDir() + "/sandbox.db"}
	first := openServer(t, cfg)
	own, anne := addPhone(t, first, ownNumber), addPhone(t, first, anneNumber)
	c := linked(t, first, own)
	does(t, first, anneNumber, `{"do":"about","text":"baking"}`)
	picture := does(t, first, anneNumber, `{"do":"picture","image":"/9j/4AAQ"}`)["pictureId"]
	does(t, first, anneNumber, `{"do":"business-name","name":"Anne's Mill"}`)
	does(t, first, ownNumber, `{"do":"blocklist","action":"block","target":"`+anneNumber+`"}`)
	does(t, first, ownNumber, `{"do":"privacy","name":"last","value":"none"}`)
	does(t, first, ownNumber, `{"do":"newsletter-join","newsletter":"120363000000000009@newsletter","name":"Bread"}`)
	wait(c, 1, every[*events.NewsletterJoin])
	c.Disconnect()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	s := openServer(t, cfg)
	c = newClient(t, s, c.Store)
	c.connect()
	wait(c, 1, every[*events.Connected])
	infos, err := c.GetUserInfo(t.Context(), []types.JID{anne.JID()})
	if got := infos[anne.JID()]; err != nil || got.Status != "baking" || got.PictureID != picture {
		t.Errorf("profile %+v, %v", infos, err)
	}
	info, err := c.GetProfilePictureInfo(t.Context(), anne.JID(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, s, info.URL); got != "\xff\xd8\xff\xe0\x00\x10" {
		t.Errorf("picture %q", got)
	}
	if list, err := c.GetBlocklist(t.Context()); err != nil || !slices.Equal(list.JIDs, []types.JID{anne.LID()}) {
		t.Errorf("blocked %+v, %v", list, err)
	}
	if p, err := c.TryFetchPrivacySettings(t.Context(), true); err != nil || p.LastSeen != types.PrivacySettingNone {
		t.Errorf("privacy %+v, %v", p, err)
	}
	channels, err := c.GetSubscribedNewsletters(t.Context())
	if err != nil || len(channels) != 1 || channels[0].ThreadMeta.Name.Text != "Bread" {
		t.Errorf("channels %+v, %v", channels, err)
	}
}
