package device

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

func ruleContacts(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	for _, put := range []func(context.Context, types.JID, string) (bool, string, error){s.PutPushName, s.PutBusinessName} {
		for _, step := range []struct {
			name, was string
			changed   bool
		}{{"a", "", true}, {"a", "", false}, {"b", "a", true}} {
			if changed, was, err := put(ctx, phone, step.name); changed != step.changed || was != step.was || err != nil {
				t.Errorf("name %q: %v, %q, %v; want %+v", step.name, changed, was, err, step)
			}
		}
	}
	check(t, s.PutContactName(ctx, phone, "First", "First Last"))
	want := types.ContactInfo{Found: true, FirstName: "First", FullName: "First Last", PushName: "b", BusinessName: "b"}
	if got, err := s.GetContact(ctx, phone); got != want || err != nil {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if got, _ := s.GetContact(ctx, lid); got.Found {
		t.Errorf("unknown contact %+v", got)
	}
}

func ruleContactNames(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	_, _, err := s.PutPushName(ctx, phone, "push")
	check(t, err)
	check(t, s.PutAllContactNames(ctx, []wastore.ContactEntry{{JID: phone, FirstName: "x"}, {JID: lid, FirstName: "l"}, {JID: phone, FirstName: "F", FullName: "N"}}))
	check(t, s.PutManyRedactedPhones(ctx, []wastore.RedactedPhoneEntry{{JID: phone, RedactedPhone: "+49***1"}}))
	all, err := s.GetAllContacts(ctx)
	want := types.ContactInfo{Found: true, FirstName: "F", FullName: "N", PushName: "push", RedactedPhone: "+49***1"}
	if err != nil || len(all) != 2 || all[phone] != want {
		t.Errorf("%+v, %v", all, err)
	}
}

func ruleSecrets(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	device := phone
	device.Device = 3
	check(t, s.PutMessageSecret(ctx, phone, device, "A", []byte("first")))
	check(t, s.PutMessageSecrets(ctx, []wastore.MessageSecretInsert{{Chat: phone, Sender: phone, ID: "A", Secret: []byte("second")}}))
	check(t, s.PutLIDMapping(ctx, lid, phone))
	for _, chat := range []types.JID{phone, lid} {
		for _, sender := range []types.JID{phone, device, lid} {
			secret, stored, err := s.GetMessageSecret(ctx, chat, sender, "A")
			wantBytes(t, fmt.Sprint(chat, sender), secret, err, []byte("first"))
			if stored != phone {
				t.Errorf("stored sender %v, want %v", stored, phone)
			}
		}
	}
	if secret, stored, err := s.GetMessageSecret(ctx, phone, phone, "B"); secret != nil || !stored.IsEmpty() || err != nil {
		t.Errorf("unknown: %q, %v, %v", secret, stored, err)
	}
}

func ruleTokens(t *testing.T, s wastore.AllStores) {
	ctx, at := t.Context(), time.Unix(1000, 0)
	put := func(user types.JID, token string, at, sent time.Time) {
		check(t, s.PutPrivacyTokens(ctx, wastore.PrivacyToken{User: user, Token: []byte(token), Timestamp: at, SenderTimestamp: sent}))
	}
	want := func(user types.JID, token string, sent time.Time) {
		t.Helper()
		got, err := s.GetPrivacyToken(ctx, user)
		if err != nil || got == nil || string(got.Token) != token || !got.SenderTimestamp.Equal(sent) || got.User != user {
			t.Errorf("token %+v, %v; want %s sent %v", got, err, token, sent)
		}
	}
	put(phone, "one", at, at)
	put(phone, "older", at.Add(-time.Second), time.Time{})
	want(phone, "one", at)
	put(phone, "same time", at, time.Time{})
	want(phone, "same time", at)
	check(t, s.PutLIDMapping(ctx, lid, phone))
	want(lid, "same time", at)
	put(lid, "newer", at.Add(time.Second), time.Time{})
	want(phone, "newer", time.Time{})
	if n, err := s.DeleteExpiredPrivacyTokens(ctx, at.Add(time.Second)); n != 1 || err != nil {
		t.Errorf("%d deleted, %v; want 1", n, err)
	}
	want(lid, "newer", time.Time{})
	if got, err := s.GetPrivacyToken(ctx, group); got != nil || err != nil {
		t.Errorf("unknown: %v, %v", got, err)
	}
}

func ruleAppState(t *testing.T, s wastore.AllStores) {
	ctx, mac := t.Context(), []byte("index")
	for _, name := range []string{"regular", "regular_low"} {
		check(t, s.PutAppStateVersion(ctx, name, 4, [128]byte{1}))
		check(t, s.PutAppStateMutationMACs(ctx, name, 4, []wastore.AppStateMutationMAC{{IndexMAC: mac, ValueMAC: []byte(name)}}))
	}
	check(t, s.DeleteAppStateVersion(ctx, "regular"))
	version, hash, err := s.GetAppStateVersion(ctx, "regular")
	if version != 0 || hash != [128]byte{} || err != nil {
		t.Errorf("version %d, %v", version, err)
	}
	gone, err := s.GetAppStateMutationMAC(ctx, "regular", mac)
	wantBytes(t, "deleted", gone, err, nil)
	kept, err := s.GetAppStateMutationMAC(ctx, "regular_low", mac)
	wantBytes(t, "another name", kept, err, []byte("regular_low"))
	if version, hash, _ := s.GetAppStateVersion(ctx, "regular_low"); version != 4 || hash[0] != 1 {
		t.Errorf("another name has version %d", version)
	}
}

func ruleNewestMAC(t *testing.T, s wastore.AllStores) {
	ctx, mac := t.Context(), []byte("index")
	for _, v := range []uint64{9, 256, 3} {
		check(t, s.PutAppStateMutationMACs(ctx, "regular", v, []wastore.AppStateMutationMAC{{IndexMAC: mac, ValueMAC: fmt.Append(nil, v)}}))
	}
	got, err := s.GetAppStateMutationMAC(ctx, "regular", mac)
	wantBytes(t, "newest", got, err, []byte("256"))
	check(t, s.DeleteAppStateMutationMACs(ctx, "regular", [][]byte{mac}))
	got, err = s.GetAppStateMutationMAC(ctx, "regular", mac)
	wantBytes(t, "deleted", got, err, nil)
}

func ruleVersionZero(t *testing.T, s wastore.AllStores) {
	if err := s.PutAppStateVersion(t.Context(), "regular", 0, [128]byte{1}); err == nil {
		t.Error("version 0 was stored")
	}
}

func ruleAppStateKeys(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	put := func(id, data string, at int64) {
		check(t, s.PutAppStateSyncKey(ctx, []byte(id), wastore.AppStateSyncKey{Data: []byte(data), Timestamp: at, Fingerprint: []byte("f")}))
	}
	put("a", "first", 10)
	put("a", "same time", 10)
	put("a", "older", 9)
	put("b", "other", 20)
	k, err := s.GetAppStateSyncKey(ctx, []byte("a"))
	if err != nil || string(k.Data) != "first" || string(k.Fingerprint) != "f" {
		t.Errorf("key %+v, %v", k, err)
	}
	put("a", "newer", 11)
	all, err := s.GetAllAppStateSyncKeys(ctx)
	if err != nil || len(all) != 2 || string(all[0].Data) != "other" || string(all[1].Data) != "newer" {
		t.Errorf("all %v, %v; want the newest first", all, err)
	}
	latest, err := s.GetLatestAppStateSyncKeyID(ctx)
	wantBytes(t, "latest", latest, err, []byte("b"))
	if k, err := s.GetAppStateSyncKey(ctx, []byte("c")); k != nil || err != nil {
		t.Errorf("unknown key %v, %v", k, err)
	}
}

func ruleChatSettings(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	if got, _ := s.GetChatSettings(ctx, group); got.Found {
		t.Errorf("unknown chat %+v", got)
	}
	check(t, errors.Join(s.PutPinned(ctx, group, true), s.PutArchived(ctx, group, true)))
	for _, until := range []time.Time{time.Unix(5000, 0), wastore.MutedForever, {}} {
		check(t, s.PutMutedUntil(ctx, group, until))
		got, err := s.GetChatSettings(ctx, group)
		if err != nil || !got.Found || !got.Pinned || !got.Archived || !got.MutedUntil.Equal(until) {
			t.Errorf("%+v, %v; want muted until %v", got, err, until)
		}
	}
}

func ruleBuffered(t *testing.T, s wastore.AllStores) {
	ctx, hash := t.Context(), [32]byte{1}
	if e, err := s.GetBufferedEvent(ctx, hash); e != nil || err != nil {
		t.Errorf("unknown: %v, %v", e, err)
	}
	check(t, s.ClearBufferedEventPlaintext(ctx, hash))
	for _, text := range [][]byte{[]byte("text"), {}} {
		check(t, s.PutBufferedEvent(ctx, hash, text, jan1))
		e, err := s.GetBufferedEvent(ctx, hash)
		check(t, err)
		wantBytes(t, "text", e.Plaintext, err, text)
		if !e.ServerTime.Equal(jan1) || time.Since(e.InsertTime).Abs() > time.Minute {
			t.Errorf("times %v, %v", e.ServerTime, e.InsertTime)
		}
	}
	check(t, s.ClearBufferedEventPlaintext(ctx, hash))
	if e, err := s.GetBufferedEvent(ctx, hash); err != nil || e == nil || e.Plaintext != nil {
		t.Errorf("cleared: %+v, %v", e, err)
	}
}

func ruleOutgoing(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	check(t, s.AddOutgoingEvent(ctx, phone, "A", "format", []byte("te\x00xt")))
	for _, chats := range [][2]types.JID{{phone, {}}, {lid, phone}} {
		format, text, err := s.GetOutgoingEvent(ctx, chats[0], chats[1], "A")
		wantBytes(t, "text", text, err, []byte("te\x00xt"))
		if format != "format" {
			t.Errorf("format %q", format)
		}
	}
	for _, id := range []string{"B", ""} {
		if _, _, err := s.GetOutgoingEvent(ctx, phone, lid, id); !errors.Is(err, ErrNoOutgoing) {
			t.Errorf("missing %q: %v, want ErrNoOutgoing", id, err)
		}
	}
}

func ruleSalt(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	for _, want := range [][]byte{nil, []byte("a"), []byte("b")} {
		if want != nil {
			check(t, s.PutNCTSalt(ctx, want))
		}
		got, err := s.GetNCTSalt(ctx)
		wantBytes(t, "salt", got, err, want)
	}
	check(t, s.DeleteNCTSalt(ctx))
	got, err := s.GetNCTSalt(ctx)
	wantBytes(t, "deleted salt", got, err, nil)
}

func ruleCopies(t *testing.T, s wastore.AllStores) {
	if _, ok := s.(*reference); ok {
		t.Skip("the reference keeps its callers' slices; no test changes them")
	}
	check(t, s.DoDecryptionTxn(t.Context(), func(ctx context.Context) error {
		mine := []byte("mine")
		check(t, s.PutSession(ctx, "1:0", mine))
		mine[0] = 'X'
		got, err := s.GetSession(ctx, "1:0")
		wantBytes(t, "inside", got, err, []byte("mine"))
		got[0] = 'Y'
		return nil
	}))
	got, err := s.GetSession(t.Context(), "1:0")
	wantBytes(t, "stored", got, err, []byte("mine"))
}
