package device

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"

	"postern/store"
)

var (
	jidOne = types.JID{User: "491511", Device: 3, Server: types.DefaultUserServer}
	jidTwo = types.JID{User: "491512", Device: 7, Server: types.DefaultUserServer}
)

func (f *file) load(t *testing.T, instance int64) *wastore.Device {
	t.Helper()
	d, err := f.container.Load(t.Context(), instance)
	check(t, err)
	return d.Device
}

func (f *file) records(t *testing.T, instance int64) (n int) {
	t.Helper()
	check(t, f.View(func(tx *store.Tx) error {
		return tx.Scan(deviceBucket, store.Range{Prefix: store.Key(instance)}, func(_, _ []byte) (bool, error) {
			n++
			return true, nil
		})
	}))
	return n
}

// fill stores something in each store.
func fill(t *testing.T, d *wastore.Device) {
	t.Helper()
	ctx, user, group := t.Context(), jidOne.ToNonAD(), types.JID{User: "1", Server: types.GroupServer}
	check(t, errors.Join(
		d.Identities.PutIdentity(ctx, "1:0", [32]byte{1}),
		d.Sessions.PutSession(ctx, "1:0", []byte("session")),
		d.SenderKeys.PutSenderKey(ctx, "1@g.us", "1:0", []byte("key")),
		d.AppStateKeys.PutAppStateSyncKey(ctx, []byte("id"), wastore.AppStateSyncKey{Timestamp: 1}),
		d.AppState.PutAppStateVersion(ctx, "regular", 1, [128]byte{}),
		d.AppState.PutAppStateMutationMACs(ctx, "regular", 1, []wastore.AppStateMutationMAC{{IndexMAC: []byte("i"), ValueMAC: []byte("v")}}),
		d.Contacts.PutContactName(ctx, user, "first", "full"),
		d.ChatSettings.PutPinned(ctx, group, true),
		d.MsgSecrets.PutMessageSecret(ctx, group, user, "A", []byte("secret")),
		d.PrivacyTokens.PutPrivacyTokens(ctx, wastore.PrivacyToken{User: user, Token: []byte("t")}),
		d.NCTSalt.PutNCTSalt(ctx, []byte("salt")),
		d.EventBuffer.PutBufferedEvent(ctx, [32]byte{1}, nil, jan1),
		d.EventBuffer.AddOutgoingEvent(ctx, group, "A", "", []byte("text")),
	))
	_, err := d.PreKeys.GetOrGenPreKeys(ctx, 2)
	check(t, err)
}

func TestLoadReturnsThePairedDeviceAfterARestart(t *testing.T) {
	f := newFile(t)
	d := f.pair(t, 1, jidOne)
	d.LID = types.JID{User: "77", Device: 3, Server: types.HiddenUserServer}
	d.PushName, d.BusinessName, d.Platform, d.LIDMigrationTimestamp, d.CompanionMetaNonce = "push", "business", "android", 5, "nonce"
	check(t, d.Save(t.Context()))
	check(t, d.Sessions.PutSession(t.Context(), "1:0", []byte("session")))
	f.reopen(t)

	got := f.load(t, 1)
	if got == nil || *got.ID != jidOne || got.LID != d.LID || !got.Initialized || got.LIDs == nil {
		t.Fatalf("loaded %+v", got)
	}
	if *got.NoiseKey.Priv != *d.NoiseKey.Priv || *got.IdentityKey.Pub != *d.IdentityKey.Pub || got.RegistrationID != d.RegistrationID {
		t.Error("the keys are not those of the pairing")
	}
	if *got.SignedPreKey.Priv != *d.SignedPreKey.Priv || *got.SignedPreKey.Signature != *d.SignedPreKey.Signature ||
		string(got.AdvSecretKey) != string(d.AdvSecretKey) {
		t.Error("the signed pre-key or the secret is not that of the pairing")
	}
	if got.PushName != "push" || got.BusinessName != "business" || got.Platform != "android" || got.LIDMigrationTimestamp != 5 || got.CompanionMetaNonce != "nonce" {
		t.Errorf("names and settings: %+v", got)
	}
	if session, err := got.Sessions.GetSession(t.Context(), "1:0"); err != nil || string(session) != "session" {
		t.Errorf("session %q, %v", session, err)
	}
	if none := f.load(t, 2); none != nil {
		t.Errorf("instance 2 has a device: %+v", none)
	}
}

func TestPutDeviceChangesNamesAndSettingsOnly(t *testing.T) {
	f := newFile(t)
	d := f.pair(t, 1, jidOne)
	fill(t, d)
	before := f.records(t, 1)
	changed := *d
	changed.PushName, changed.RegistrationID, changed.AdvSecretKey = "push", d.RegistrationID+1, []byte("other")
	changed.NoiseKey = keys.NewKeyPair()
	check(t, changed.Save(t.Context()))
	got := f.load(t, 1)
	if got.PushName != "push" || got.RegistrationID != d.RegistrationID || *got.NoiseKey.Priv != *d.NoiseKey.Priv ||
		string(got.AdvSecretKey) != string(d.AdvSecretKey) {
		t.Errorf("loaded %+v", got)
	}
	if n := f.records(t, 1); n != before {
		t.Errorf("%d records, want %d", n, before)
	}
}

func TestOldDeviceDoesNotReplaceTheNewOne(t *testing.T) {
	f := newFile(t)
	former := f.pair(t, 1, jidOne)
	f.pair(t, 1, jidTwo)
	if err := former.Save(t.Context()); !errors.Is(err, wastore.ErrDeviceDeleted) {
		t.Errorf("saved with %v, want ErrDeviceDeleted", err)
	}
	if got := f.load(t, 1); *got.ID != jidTwo {
		t.Errorf("loaded %v, want %v", got.ID, jidTwo)
	}
}

func TestAnUnpairedDeviceIsNeitherStoredNorDeleted(t *testing.T) {
	f := newFile(t)
	d := f.container.New(1)
	if d.Save(t.Context()) == nil || d.Delete(t.Context()) == nil {
		t.Error("a device without JID was accepted")
	}
	if n := f.records(t, 1); n != 0 {
		t.Errorf("%d records", n)
	}
}

func TestNewDeviceReplacesTheOldOne(t *testing.T) {
	for name, jid := range map[string]types.JID{"another number": jidTwo, "the same JID given again": jidOne} {
		t.Run(name, func(t *testing.T) {
			f := newFile(t)
			fill(t, f.pair(t, 1, jidOne))
			again := f.pair(t, 1, jid)
			if n := f.records(t, 1); n != 1 {
				t.Errorf("%d records, want the device only", n)
			}
			f.reopen(t)
			if got := f.load(t, 1); *got.ID != jid || *got.IdentityKey.Priv != *again.IdentityKey.Priv {
				t.Errorf("loaded %v with other keys than were paired", got.ID)
			}
		})
	}
}

func TestDeletingAnOldDeviceKeepsTheNew(t *testing.T) {
	for name, jid := range map[string]types.JID{"another number": jidTwo, "the same JID given again": jidOne} {
		t.Run(name, func(t *testing.T) {
			f := newFile(t)
			former := f.pair(t, 1, jidOne)
			again := f.pair(t, 1, jid)
			fill(t, again)
			before := f.records(t, 1)
			check(t, former.Delete(t.Context()))
			if n := f.records(t, 1); n != before {
				t.Errorf("%d records, want %d", n, before)
			}
			check(t, again.Delete(t.Context()))
			if n := f.records(t, 1); n != 0 {
				t.Errorf("%d records are left", n)
			}
		})
	}
}

func TestADeletedDeviceIsNotStoredAgain(t *testing.T) {
	f := newFile(t)
	d := f.pair(t, 1, jidOne)
	check(t, f.container.Delete(t.Context(), 1))
	if err := d.Save(t.Context()); !errors.Is(err, wastore.ErrDeviceDeleted) {
		t.Errorf("saved with %v, want ErrDeviceDeleted", err)
	}
	if f.load(t, 1) != nil {
		t.Error("the device is back")
	}
}

func TestDeleteRemovesOneInstanceCompletely(t *testing.T) {
	f := newFile(t)
	instances := []int64{1, 2, 255, 256, 257, 1 << 32, int64('D')}
	for _, i := range instances {
		fill(t, f.pair(t, i, jidOne))
	}
	full := f.records(t, 2)
	for n, gone := range instances {
		check(t, f.container.Delete(t.Context(), gone))
		for k, i := range instances {
			want := full
			if k <= n {
				want = 0
			}
			if got := f.records(t, i); got != want {
				t.Errorf("after deletion of %d instance %d has %d records, want %d", gone, i, got, want)
			}
		}
	}
	check(t, f.container.Delete(t.Context(), 99))
}

// damage changes bytes of the closed file, so that a checksum is wrong.
func (f *file) damage(t *testing.T, old, changed string) {
	t.Helper()
	check(t, f.Close())
	raw, err := os.ReadFile(f.path)
	check(t, err)
	if !bytes.Contains(raw, []byte(old)) {
		t.Fatalf("the file does not have %q", old)
	}
	check(t, os.WriteFile(f.path, bytes.ReplaceAll(raw, []byte(old), []byte(changed)), 0o600))
	f.open(t)
}

func TestDamagedRecordIsAnErrorUntilReplaced(t *testing.T) {
	for name, repair := range map[string]func(t *testing.T, f *file, d *wastore.Device){
		"deleted":      func(t *testing.T, f *file, _ *wastore.Device) { check(t, f.container.Delete(t.Context(), 1)) },
		"paired again": func(t *testing.T, f *file, _ *wastore.Device) { f.pair(t, 1, jidTwo) },
		"saved": func(t *testing.T, f *file, d *wastore.Device) {
			d.Container = view{f.container, 1}
			check(t, d.Save(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFile(t)
			d := f.pair(t, 1, jidOne)
			f.damage(t, jidOne.String(), jidTwo.String())
			if _, err := f.container.Load(t.Context(), 1); !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("loaded a damaged record: %v, want ErrDamaged", err)
			}
			repair(t, f, d)
			if _, err := f.container.Load(t.Context(), 1); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestThePairedDeviceHasAllStores(t *testing.T) {
	f := newFile(t)
	d := f.pair(t, 1, jidOne)
	if d.Sessions == nil || d.EventBuffer == nil || d.NCTSalt == nil || d.LIDs == nil || !d.Initialized {
		t.Errorf("stores are missing: %+v", d)
	}
	if f.container.New(1).LIDs == nil {
		t.Error("an unpaired device has no LID map")
	}
}

func TestAWriteToAClosedFileIsRefused(t *testing.T) {
	f := newFile(t)
	d := f.pair(t, 1, jidOne)
	check(t, f.Close())
	if err := d.Sessions.PutSession(context.Background(), "1:0", []byte("x")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a write to a closed file: %v, want ErrClosed", err)
	}
}

// Close lists the devices, and one may be deleted before its turn: then it has nothing
// pending.
func TestDeleteDuringStopIsNoCrash(t *testing.T) {
	f := newFile(t)
	f.pair(t, 1, types.JID{User: "49151", Server: types.DefaultUserServer, Device: 1})
	listed := f.container.flightsOf(1)
	check(t, f.container.Delete(t.Context(), 1))
	check(t, listed.close(t.Context()))
}
