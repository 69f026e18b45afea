package device

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

var (
	jan1  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	phone = types.JID{User: "49151", Server: types.DefaultUserServer}
	lid   = types.JID{User: "77", Server: types.HiddenUserServer}
	group = types.JID{User: "1", Server: types.GroupServer}
)

// runSuite runs what every implementation of the library's stores must do.
func runSuite(t *testing.T, newStore func(t *testing.T) wastore.AllStores) {
	for name, rule := range map[string]func(*testing.T, wastore.AllStores){
		"a decryption is stored as a whole or not at all":              ruleDecryption,
		"the first identity of an address is trusted and then only it": ruleIdentity,
		"GetManySessions has an entry for every address":               ruleManySessions,
		"MigratePNToLID moves sessions, identities and sender keys":    ruleMigrate,
		"a user is deleted in both forms of the address":               ruleDeleteUser,
		"pre-keys are given until uploaded and ids are not used twice": rulePreKeys,
		"GetOrGenPreKeys of none returns none":                         ruleNoPreKeys,
		"a LID has one phone number and a phone number one LID":        ruleLIDs,
		"PutContactName takes first and full name, names say what was": ruleContacts,
		"contact names stored together leave other fields":             ruleContactNames,
		"the first secret of a message stays, found in both forms":     ruleSecrets,
		"a privacy token is not replaced by an older one":              ruleTokens,
		"deleting an app state version deletes its MACs":               ruleAppState,
		"the MAC of the newest version counts":                         ruleNewestMAC,
		"version 0 is not stored":                                      ruleVersionZero,
		"an app state key is replaced by a newer one only":             ruleAppStateKeys,
		"chat settings keep each other":                                ruleChatSettings,
		"a buffered event keeps its hash when its text is cleared":     ruleBuffered,
		"an outgoing message that is missing is an error":              ruleOutgoing,
		"the salt is stored and deleted":                               ruleSalt,
		"what a caller does to its bytes afterwards changes nothing":   ruleCopies,
	} {
		t.Run(name, func(t *testing.T) { rule(t, newStore(t)) })
	}
}

func TestTheStoresOnTheFile(t *testing.T) {
	runSuite(t, func(t *testing.T) wastore.AllStores { return newFile(t).stores(t, 1) })
}

func TestTheReference(t *testing.T) {
	runSuite(t, func(*testing.T) wastore.AllStores { return newReference() })
}

// wantBytes compares what a getter returned; nil and empty differ.
func wantBytes(t *testing.T, what string, got []byte, err error, want []byte) {
	t.Helper()
	if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
		t.Errorf("%s: %q, %v; want %q", what, got, err, want)
	}
}

func ruleDecryption(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	check(t, s.PutSession(ctx, "2:0", []byte("old")))
	key, err := s.GenOnePreKey(ctx)
	check(t, err)
	work := func(ctx context.Context) {
		check(t, errors.Join(s.PutSession(ctx, "1:0", []byte("new")), s.DeleteSession(ctx, "2:0"),
			s.PutIdentity(ctx, "1:0", [32]byte{1}), s.PutSenderKey(ctx, "g", "1:0", []byte("k")),
			s.RemovePreKey(ctx, key.KeyID), s.PutBufferedEvent(ctx, [32]byte{1}, []byte("text"), jan1)))
		session, err := s.GetSession(ctx, "1:0")
		wantBytes(t, "inside", session, err, []byte("new"))
		if has, _ := s.HasSession(ctx, "2:0"); has {
			t.Error("inside, a deleted session is seen")
		}
	}
	stored := func(want bool) {
		t.Helper()
		has, _ := s.HasSession(ctx, "1:0")
		old, _ := s.HasSession(ctx, "2:0")
		trusts, _ := s.IsTrustedIdentity(ctx, "1:0", [32]byte{9})
		sender, _ := s.GetSenderKey(ctx, "g", "1:0")
		pre, _ := s.GetPreKey(ctx, key.KeyID)
		event, _ := s.GetBufferedEvent(ctx, [32]byte{1})
		if has != want || old == want || trusts == want || (sender != nil) != want || (pre == nil) != want || (event != nil) != want {
			t.Errorf("stored: %v %v %v %v %v %v, want %v of all", has, !old, !trusts, sender != nil, pre == nil, event != nil, want)
		}
	}
	failed := errors.New("failed")
	if err := s.DoDecryptionTxn(ctx, func(ctx context.Context) error { work(ctx); return failed }); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	stored(false)
	panicked := &struct{ int }{1}
	func() {
		defer func() {
			if v := recover(); v != any(panicked) {
				t.Errorf("panic %v was not passed on unchanged", v)
			}
		}()
		_ = s.DoDecryptionTxn(ctx, func(ctx context.Context) error { work(ctx); panic(panicked) })
	}()
	stored(false)
	check(t, s.DoDecryptionTxn(ctx, func(ctx context.Context) error { work(ctx); return nil }))
	stored(true)
}

func ruleIdentity(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	trusts := func(k byte) bool {
		ok, err := s.IsTrustedIdentity(ctx, "1:0", [32]byte{k})
		check(t, err)
		return ok
	}
	if !trusts(1) || !trusts(2) {
		t.Error("an unknown address is not trusted")
	}
	check(t, s.PutIdentity(ctx, "1:0", [32]byte{1}))
	if !trusts(1) || trusts(2) {
		t.Error("another key than the first is trusted")
	}
	check(t, s.DeleteIdentity(ctx, "1:0"))
	if !trusts(2) {
		t.Error("a deleted identity is still known")
	}
}

func ruleManySessions(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	check(t, s.PutManySessions(ctx, map[string][]byte{"1:0": []byte("a"), "1:1": []byte("b")}))
	got, err := s.GetManySessions(ctx, []string{"1:0", "1:1", "1:2"})
	check(t, err)
	if v, asked := got["1:2"]; len(got) != 3 || !asked || v != nil || string(got["1:1"]) != "b" {
		t.Errorf("got %q", got)
	}
}

func ruleMigrate(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	for _, a := range []string{"49151:0", "49151:2", "491512:0"} {
		check(t, errors.Join(s.PutSession(ctx, a, []byte(a)), s.PutIdentity(ctx, a, [32]byte{1}), s.PutSenderKey(ctx, "g", a, []byte(a))))
	}
	check(t, s.MigratePNToLID(ctx, phone, lid))
	for a, want := range map[string]string{"77_1:0": "49151:0", "77_1:2": "49151:2", "491512:0": "491512:0", "49151:0": "", "49151:2": "", "77_1:1": ""} {
		var value []byte
		if want != "" {
			value = []byte(want)
		}
		session, err := s.GetSession(ctx, a)
		wantBytes(t, "session "+a, session, err, value)
		key, err := s.GetSenderKey(ctx, "g", a)
		wantBytes(t, "sender key "+a, key, err, value)
		if trusts, _ := s.IsTrustedIdentity(ctx, a, [32]byte{2}); trusts != (want == "") {
			t.Errorf("identity %s: another key is trusted: %v", a, trusts)
		}
	}
}

func ruleDeleteUser(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	all := []string{"12:0", "12:5", "12_1:0", "12_1:5", "123:0", "1:0", "12_2:0"}
	for _, a := range all {
		check(t, errors.Join(s.PutSession(ctx, a, []byte(a)), s.PutIdentity(ctx, a, [32]byte{1})))
	}
	check(t, errors.Join(s.DeleteAllSessions(ctx, "12"), s.DeleteAllIdentities(ctx, "12")))
	for i, a := range all {
		has, _ := s.HasSession(ctx, a)
		trusts, _ := s.IsTrustedIdentity(ctx, a, [32]byte{2})
		if kept := i >= 4; has != kept || trusts == kept {
			t.Errorf("%s: session %v, identity %v", a, has, !trusts)
		}
	}
}

func rulePreKeys(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	first, err := s.GetOrGenPreKeys(ctx, 3)
	check(t, err)
	again, err := s.GetOrGenPreKeys(ctx, 5)
	check(t, err)
	for i, k := range again {
		if k.KeyID != uint32(i+1) || i < 3 && *k.Priv != *first[i].Priv {
			t.Errorf("key %d has id %d; those that were not uploaded come first", i, k.KeyID)
		}
	}
	check(t, s.MarkPreKeysAsUploaded(ctx, 3))
	if n, _ := s.UploadedPreKeyCount(ctx); n != 3 {
		t.Errorf("%d uploaded, want 3", n)
	}
	one, err := s.GenOnePreKey(ctx)
	check(t, err)
	if n, _ := s.UploadedPreKeyCount(ctx); n != 4 || one.KeyID != 6 {
		t.Errorf("%d uploaded after GenOnePreKey of id %d, want 4 and 6", n, one.KeyID)
	}
	stored, err := s.GetPreKey(ctx, 6)
	check(t, err)
	if *stored.Priv != *one.Priv || *stored.Pub != *one.Pub {
		t.Error("the stored key is another one")
	}
	for id := range uint32(7) {
		check(t, s.RemovePreKey(ctx, id))
	}
	if k, err := s.GetPreKey(ctx, 6); k != nil || err != nil {
		t.Errorf("a removed key: %v, %v", k, err)
	}
	if next, _ := s.GetOrGenPreKeys(ctx, 1); next[0].KeyID != 7 {
		t.Errorf("id %d was used before", next[0].KeyID)
	}
}

func ruleNoPreKeys(t *testing.T, s wastore.AllStores) {
	for range 2 {
		if none, err := s.GetOrGenPreKeys(t.Context(), 0); len(none) != 0 || err != nil {
			t.Errorf("got %d, %v", len(none), err)
		}
		_, err := s.GetOrGenPreKeys(t.Context(), 2)
		check(t, err)
	}
}

func ruleLIDs(t *testing.T, s wastore.AllStores) {
	ctx := t.Context()
	pn2, lid2 := types.JID{User: "49152", Server: types.DefaultUserServer}, types.JID{User: "78", Server: types.HiddenUserServer}
	check(t, s.PutLIDMapping(ctx, lid, phone))
	asked := phone
	asked.Device = 4
	want := lid
	want.Device = 4
	if got, err := s.GetLIDForPN(ctx, asked); got != want || err != nil {
		t.Errorf("%v, %v; want the device of the question, %v", got, err, want)
	}
	// Another LID for the number, and that LID for another number.
	check(t, s.PutManyLIDMappings(ctx, []wastore.LIDMapping{{LID: lid2, PN: phone}, {LID: phone, PN: lid}, {LID: lid, PN: pn2}}))
	for question, want := range map[types.JID]types.JID{phone: lid2, pn2: lid} {
		there, err := s.GetLIDForPN(ctx, question)
		check(t, err)
		back, err := s.GetPNForLID(ctx, want)
		if there != want || back != question || err != nil {
			t.Errorf("%v: %v and back %v", question, there, back)
		}
	}
	// A batch that goes there and back leaves what was.
	check(t, s.PutManyLIDMappings(ctx, []wastore.LIDMapping{{LID: lid, PN: phone}, {LID: lid2, PN: phone}, {LID: lid, PN: pn2}}))
	if got, _ := s.GetLIDForPN(ctx, phone); got != lid2 {
		t.Errorf("%v, want the last of the batch", got)
	}
	many, err := s.GetManyLIDsForPNs(ctx, []types.JID{phone, asked, {User: "0", Server: types.DefaultUserServer}, lid})
	if err != nil || len(many) != 2 || many[asked].Device != 4 {
		t.Errorf("many: %v, %v", many, err)
	}
	if none, err := s.GetPNForLID(ctx, types.JID{User: "0", Server: types.HiddenUserServer}); !none.IsEmpty() || err != nil {
		t.Errorf("unknown LID: %v, %v", none, err)
	}
	_, err1 := s.GetPNForLID(ctx, phone)
	_, err2 := s.GetLIDForPN(ctx, lid)
	if err1 == nil || err2 == nil || s.PutLIDMapping(ctx, phone, lid) == nil {
		t.Error("the wrong kind of JID is no error")
	}
}
