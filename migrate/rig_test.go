package migrate

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waAdv"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/types"
	waLog "go.mau.fi/whatsmeow/util/log"
	_ "modernc.org/sqlite" // what the library's store is in

	"postern/instance"
)

// full is n bytes.
func full(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }

// database opens an SQLite file and runs statements; it is closed before its path
// is returned.
func database(t testing.TB, name string, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	run(t, path, statements...)
	return path
}

func run(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// whatsmeowStore makes the library's store with devices of these JIDs, by the library.
func whatsmeowStore(t testing.TB, jids ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "whatsmeow.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	c := sqlstore.NewWithDB(db, "sqlite", waLog.Noop)
	if err := c.Upgrade(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n, text := range jids {
		jid, err := types.ParseJID(text)
		if err != nil {
			t.Fatal(err)
		}
		d := c.NewDevice()
		d.ID, d.LID = &jid, types.JID{User: fmt.Sprint(7_000_000 + n), Device: jid.Device, Server: types.HiddenUserServer}
		d.Account = &waAdv.ADVSignedDeviceIdentity{Details: full(1, 10), AccountSignature: full(2, 64), AccountSignatureKey: full(3, 32), DeviceSignature: full(4, 64)}
		d.PushName = "Anna"
		if err := d.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
		fill(t, d)
	}
	return path
}

// fill writes something of each kind by the library.
func fill(t testing.TB, d *wastore.Device) {
	t.Helper()
	ctx, alice := context.Background(), types.NewJID("4915100000001", types.DefaultUserServer)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(d.Identities.PutIdentity(ctx, "4915100000001:0", [32]byte(full(5, 32))))
	_, err := d.PreKeys.GetOrGenPreKeys(ctx, 10)
	must(err)
	must(d.PreKeys.MarkPreKeysAsUploaded(ctx, 8))
	must(d.SenderKeys.PutSenderKey(ctx, "1203630@g.us", "4915100000001:0", []byte(`{"SenderKeyStates":[]}`)))
	must(d.AppStateKeys.PutAppStateSyncKey(ctx, []byte{0, 1}, wastore.AppStateSyncKey{Data: full(1, 32), Fingerprint: []byte{1}, Timestamp: 5}))
	must(d.AppState.PutAppStateVersion(ctx, "regular", 3, [128]byte(full(6, 128))))
	must(d.AppState.PutAppStateMutationMACs(ctx, "regular", 3, []wastore.AppStateMutationMAC{{IndexMAC: full(7, 32), ValueMAC: full(8, 32)}}))
	must(d.Contacts.PutContactName(ctx, alice, "Alice", "Alice A."))
	must(d.ChatSettings.PutPinned(ctx, alice, true))
	must(d.MsgSecrets.PutMessageSecret(ctx, alice, alice, "3EB0", full(9, 32)))
	must(d.PrivacyTokens.PutPrivacyTokens(ctx, wastore.PrivacyToken{User: alice, Token: []byte{1}, Timestamp: time.Now()}))
	must(d.NCTSalt.PutNCTSalt(ctx, full(1, 16)))
	must(d.EventBuffer.PutBufferedEvent(ctx, [32]byte(full(1, 32)), []byte("x"), time.Now()))
	must(d.EventBuffer.AddOutgoingEvent(ctx, alice, "3EB1", "wa", []byte("y")))
	must(d.LIDs.PutLIDMapping(ctx, types.NewJID("99"+d.ID.User, types.HiddenUserServer), types.NewJID("4915"+d.ID.User, types.DefaultUserServer)))
}

// options returns those of a plan over files.
func options(from ...string) Options {
	return Options{
		From: from, Rules: instance.Rules{}, Now: time.Now(),
		Keeps: func(name, token string) bool { return token == "good for "+name },
		Mint:  func(name string) (string, error) { return "new for " + name, nil },
	}
}

// accounts returns those of a plan, by name.
func accounts(t testing.TB, o Options) (map[string]*Account, *Plan) {
	t.Helper()
	p, err := Whatsmeow(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	all := map[string]*Account{}
	if err := p.Each(t.Context(), func(a *Account) error {
		all[a.Import.Name] = a
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all, p
}

// says wants each text in one of the lines.
func says(t testing.TB, lines []string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, text) }) {
			t.Errorf("no line says %q:\n%s", text, strings.Join(lines, "\n"))
		}
	}
}
