package device

import (
	"bytes"
	"context"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

func full(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }

func goodCredentials() Credentials {
	return Credentials{
		JID: "4915112345678:7@s.whatsapp.net", LID: "77001122:7@lid", RegistrationID: 4_000_000_000,
		Noise: full(1, 32), Identity: full(2, 32), SignedPreKey: full(3, 32), SignedPreKeyID: 5, Signature: full(4, 64), AdvSecret: full(5, 32),
		Details: full(6, 20), AccountSignature: full(7, 64), AccountSignatureKey: full(8, 32), DeviceSignature: full(9, 64),
		Platform: "android", BusinessName: "Shop", PushName: "Anna", FacebookUUID: "0196f0a0-0000-7000-8000-000000000001",
		LIDMigrationTimestamp: 12, CompanionMetaNonce: "nonce",
	}
}

// written are what the file has of an instance, by key.
func (f *file) written(t *testing.T, instance int64) map[string]string {
	t.Helper()
	all := map[string]string{}
	check(t, f.View(func(tx *store.Tx) error {
		return tx.Scan(deviceBucket, store.Range{Prefix: store.Key(instance)}, func(k, v []byte) (bool, error) {
			all[string(k[8:])] = string(v)
			return true, nil
		})
	}))
	return all
}

// TestImageIsStoredLikeTheLibraryDoes writes one device by the library's interfaces and
// one as an image, and compares their bytes.
func TestImageIsStoredLikeTheLibraryDoes(t *testing.T) {
	f := newFile(t)
	f.container.Join("") // an image does not know its network
	ctx := t.Context()
	c := goodCredentials()
	i, err := NewImage(c)
	check(t, err)

	rec := i.rec
	d, err := rec.device()
	check(t, err)
	d.Container = view{f.container, 1}
	check(t, d.Save(ctx))
	s := d.Sessions.(*account)

	at, session := time.UnixMilli(1_700_000_000_123), ratchet(t, 3)
	alice, bob := types.NewJID("4915100000001", types.DefaultUserServer), types.NewJID("99", types.HiddenUserServer)
	team := types.NewJID("1203630", types.GroupServer)

	check(t, s.PutIdentity(ctx, "99_1:2", [32]byte(full(1, 32))))
	check(t, i.AddIdentity("99_1:2", full(1, 32)))
	check(t, s.DoDecryptionTxn(ctx, func(ctx context.Context) error { return s.PutSession(ctx, "99_1:2", session) }))
	check(t, i.AddSession("99_1:2", session))
	check(t, s.PutSenderKey(ctx, team.String(), "99_1:2", []byte(`{"SenderKeyStates":[]}`)))
	check(t, i.AddSenderKey(team.String(), "99_1:2", []byte(`{"SenderKeyStates":[]}`)))
	made, err := s.GetOrGenPreKeys(ctx, 3)
	check(t, err)
	check(t, s.MarkPreKeysAsUploaded(ctx, 2))
	for _, k := range made {
		check(t, i.AddPreKey(k.KeyID, k.Priv[:], k.KeyID <= 2))
	}
	check(t, s.PutAppStateSyncKey(ctx, []byte{0, 1}, wastore.AppStateSyncKey{Data: full(1, 32), Fingerprint: []byte{2}, Timestamp: 3}))
	check(t, i.AddAppStateKey([]byte{0, 1}, full(1, 32), []byte{2}, 3))
	check(t, s.PutAppStateVersion(ctx, "regular", 9, [128]byte(full(7, 128))))
	check(t, i.AddAppStateVersion("regular", 9, full(7, 128)))
	check(t, i.AddAppStateVersion("none", 0, full(7, 128))) // of which nothing is stored
	check(t, s.PutAppStateMutationMACs(ctx, "regular", 9, []wastore.AppStateMutationMAC{{IndexMAC: full(1, 32), ValueMAC: full(2, 32)}}))
	check(t, i.AddMutationMAC("regular", 9, full(1, 32), full(2, 32)))
	check(t, s.PutContactName(ctx, alice, "Ali", "Alice"))
	_, _, err = s.PutPushName(ctx, alice, "ali")
	check(t, err)
	check(t, i.AddContact(alice.String(), "Ali", "Alice", "ali", "", ""))
	check(t, s.PutMutedUntil(ctx, team, wastore.MutedForever))
	check(t, s.PutPinned(ctx, team, true))
	check(t, i.AddChatSettings(team.String(), -1, true, false))
	check(t, s.PutMessageSecret(ctx, team, bob, "3EB0", full(5, 32)))
	check(t, i.AddMessageSecret(team.String(), bob.String(), "3EB0", full(5, 32), time.Now()))
	check(t, s.PutPrivacyTokens(ctx, wastore.PrivacyToken{User: bob, Token: []byte{1}, Timestamp: at, SenderTimestamp: at}))
	check(t, i.AddPrivacyToken(bob.String(), []byte{1}, at.Unix(), at.Unix()))
	check(t, s.PutNCTSalt(ctx, full(1, 16)))
	check(t, i.SetNCTSalt(full(1, 16)))
	check(t, s.PutBufferedEvent(ctx, [32]byte(full(1, 32)), []byte("x"), at))
	check(t, i.AddBufferedEvent(full(1, 32), []byte("x"), at, time.Now()))
	check(t, s.AddOutgoingEvent(ctx, alice, "3EB1", "fmt", []byte("y")))
	check(t, i.AddOutgoing(alice.String(), "3EB1", "fmt", []byte("y"), time.Now()))
	check(t, i.AddLIDPair(bob.User, alice.User))

	check(t, f.Update(ctx, func(tx *store.Tx) error { return f.container.StoreTx(tx, 2, i) }))
	want, have := f.written(t, 1), f.written(t, 2)
	for _, all := range []map[string]string{want, have} { // times at which they were written
		for k, v := range all {
			if strings.Contains("XBO", k[:1]) {
				all[k] = v[8:]
			}
		}
	}
	for k := range maps.Keys(merge(want, have)) {
		if want[k] != have[k] {
			t.Errorf("%q became %q, want %q", k, have[k], want[k])
		}
	}
	f.container.Learn(i)
	if twin := f.container.Twin(alice.String()); twin != bob.String() {
		t.Errorf("the LID of %s is %q", alice, twin)
	}
	f.reopen(t)
	if twin := f.container.Twin(alice.String()); twin != bob.String() {
		t.Errorf("after a start the LID of %s is %q", alice, twin)
	}
	loaded := f.load(t, 2)
	if loaded.ID.String() != c.JID || loaded.LID.String() != c.LID || loaded.PushName != "Anna" || loaded.RegistrationID != c.RegistrationID {
		t.Errorf("loaded %+v", loaded)
	}
	next, err := loaded.PreKeys.GenOnePreKey(ctx)
	check(t, err)
	if next.KeyID != 4 {
		t.Errorf("the next pre-key has the id %d, want 4", next.KeyID)
	}
}

func TestAnImageDoesNotReplaceADevice(t *testing.T) {
	f := newFile(t)
	f.pair(t, 1, types.NewJID("4915100000001", types.DefaultUserServer))
	before := f.written(t, 1)
	i, err := NewImage(goodCredentials())
	check(t, err)
	if err := f.Update(t.Context(), func(tx *store.Tx) error { return f.container.StoreTx(tx, 1, i) }); err == nil {
		t.Error("a device was replaced")
	}
	if after := f.written(t, 1); !reflect.DeepEqual(before, after) {
		t.Error("the device of the instance changed")
	}
}

// TestCredentialsThatBreakARuleAreNamed changes one field at a time.
func TestCredentialsThatBreakARuleAreNamed(t *testing.T) {
	for want, change := range map[string]func(*Credentials){
		"not the JID of a device":             func(c *Credentials) { c.JID = "1203630@g.us" },
		"not the JID":                         func(c *Credentials) { c.JID = "" },
		"not a LID":                           func(c *Credentials) { c.LID = "4915112345678@s.whatsapp.net" },
		"the noise key must have 32":          func(c *Credentials) { c.Noise = full(1, 33) },
		"the identity key must have 32":       func(c *Credentials) { c.Identity = nil },
		"the signature of the signed pre-key": func(c *Credentials) { c.Signature = full(1, 63) },
		"the id of the signed pre-key":        func(c *Credentials) { c.SignedPreKeyID = 1 << 24 },
		"the account's signature must":        func(c *Credentials) { c.AccountSignature = full(1, 65) },
		"the account's signature key":         func(c *Credentials) { c.AccountSignatureKey = nil },
		"the device's signature":              func(c *Credentials) { c.DeviceSignature = nil },
		"the details":                         func(c *Credentials) { c.Details = nil },
		"not a UUID":                          func(c *Credentials) { c.FacebookUUID = "x" },
	} {
		c := goodCredentials()
		change(&c)
		if _, err := NewImage(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
}

// TestWhatBreaksARuleIsNotAdded adds hostile values of each kind.
func TestWhatBreaksARuleIsNotAdded(t *testing.T) {
	i, err := NewImage(goodCredentials())
	check(t, err)
	long := strings.Repeat("x", maxName+1)
	for n, err := range []error{
		i.AddIdentity("", full(1, 32)), i.AddIdentity(long, full(1, 32)), i.AddIdentity("a", full(1, 31)), i.AddIdentity("\xff", full(1, 32)),
		i.AddSession("a", nil), i.AddSession("a", []byte("hello")), i.AddSession("a", []byte("{}")), i.AddSession("a", []byte(`{"SessionState":{}}`)), i.AddSession(long, nil),
		i.AddSenderKey("g", "", nil), i.AddSenderKey("g", "u", []byte("hello")), i.AddSenderKey("g", "u", []byte(`{"SenderKeyStates":[{}]}`)), i.AddSenderKey("g", "u", []byte(`{"SenderKeyStates":[null]}`)),
		i.AddPreKey(0, full(1, 32), true), i.AddPreKey(1<<24, full(1, 32), true), i.AddPreKey(1, full(1, 33), true), i.PreKeysFrom(0), i.PreKeysFrom(1<<24 + 1),
		i.AddAppStateKey(nil, full(1, 32), nil, 1), i.AddAppStateKey([]byte{1}, nil, nil, 1),
		i.AddAppStateVersion("a", 1, full(1, 127)), i.AddMutationMAC("a", 1, full(1, 31), full(1, 32)), i.AddMutationMAC("a", 1, full(1, 32), nil),
		i.AddContact("", "", "", "", "", ""), i.AddContact(long, "", "", "", "", ""), i.AddChatSettings("", 0, false, false),
		i.AddMessageSecret("a@s.whatsapp.net", "b@s.whatsapp.net", "", full(1, 32), time.Now()), i.AddMessageSecret("a@s.whatsapp.net", "b@s.whatsapp.net", "x", nil, time.Now()),
		i.AddPrivacyToken("", nil, 0, 0), i.SetNCTSalt(nil), i.AddLIDPair("", "x"), i.AddLIDPair("x", long),
		i.AddBufferedEvent(full(1, 31), nil, time.Now(), time.Now()), i.AddOutgoing("", "a", "b", nil, time.Now()), i.AddOutgoing("a@s.whatsapp.net", "", "b", nil, time.Now()),
	} {
		if err == nil {
			t.Errorf("number %d was added", n)
		}
	}
	if i.Size() != 0 || len(i.pairs) != 0 || i.nextID != 1 {
		t.Errorf("the image has %d bytes", i.Size())
	}
	check(t, i.AddPreKey(maxPreKeyID, full(1, 32), false))
	if i.nextID != 1 {
		t.Errorf("behind the last pre-key comes %d", i.nextID)
	}
}

func merge(a, b map[string]string) map[string]string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}
