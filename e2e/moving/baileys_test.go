package moving

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/util/keys"
	"google.golang.org/protobuf/proto"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// buffer is bytes as Baileys writes them.
func buffer(b []byte) map[string]any {
	return map[string]any{"type": "Buffer", "data": base64.StdEncoding.EncodeToString(b)}
}

// authState writes the multi-file auth state that Baileys would have of a device.
func (o *oldProgram) authState(d *wastore.Device) (folder string) {
	o.t.Helper()
	folder = o.t.TempDir()
	write := func(name string, v any) {
		o.t.Helper()
		raw, err := json.Marshal(v)
		if err != nil {
			o.t.Fatal(err)
		}
		name = strings.NewReplacer("/", "__", ":", "-").Replace(name)
		if err := os.WriteFile(filepath.Join(folder, name+".json"), raw, 0o600); err != nil {
			o.t.Fatal(err)
		}
	}
	each := func(query string, columns int, fn func(v []any)) {
		o.t.Helper()
		rows, err := o.db.Query(query, d.ID.String())
		if err != nil {
			o.t.Fatal(err)
		}
		var all [][]any
		for rows.Next() {
			v, into := make([]any, columns), make([]any, columns)
			for i := range v {
				into[i] = &v[i]
			}
			if err := rows.Scan(into...); err != nil {
				o.t.Fatal(err)
			}
			all = append(all, v)
		}
		rows.Close() // there is one connection, and fn may ask, too
		for _, v := range all {
			fn(v)
		}
	}
	pair := func(private, public []byte) map[string]any {
		return map[string]any{"private": buffer(private), "public": buffer(public)}
	}
	next := int64(1)
	each("SELECT key_id, key FROM whatsmeow_pre_keys WHERE jid = $1", 2, func(v []any) {
		id := v[0].(int64)
		next = max(next, id+1)
		private := v[1].([]byte)
		write(fmt.Sprintf("pre-key-%d", id), pair(private, keys.NewKeyPairFromPrivateKey([32]byte(private)).Pub[:]))
	})
	write("creds", map[string]any{
		"noiseKey": pair(d.NoiseKey.Priv[:], d.NoiseKey.Pub[:]), "signedIdentityKey": pair(d.IdentityKey.Priv[:], d.IdentityKey.Pub[:]),
		"signedPreKey":   map[string]any{"keyPair": pair(d.SignedPreKey.Priv[:], d.SignedPreKey.Pub[:]), "signature": buffer(d.SignedPreKey.Signature[:]), "keyId": d.SignedPreKey.KeyID},
		"registrationId": d.RegistrationID, "advSecretKey": base64.StdEncoding.EncodeToString(d.AdvSecretKey),
		"nextPreKeyId": next, "firstUnuploadedPreKeyId": next, "accountSyncCounter": 1, "accountSettings": map[string]any{"unarchiveChats": false}, "registered": false,
		"me":      map[string]any{"id": d.ID.String(), "lid": d.LID.String(), "name": d.PushName},
		"account": map[string]any{"details": d.Account.Details, "accountSignatureKey": d.Account.AccountSignatureKey, "accountSignature": d.Account.AccountSignature, "deviceSignature": d.Account.DeviceSignature},
		"signalIdentities": []any{map[string]any{
			"identifier": map[string]any{"name": d.ID.String(), "deviceId": 0}, "identifierKey": buffer(append([]byte{5}, d.Account.AccountSignatureKey...)),
		}},
		"platform": "android", "routingInfo": buffer([]byte{1, 2}),
	})
	each("SELECT key_id, key_data, fingerprint, timestamp FROM whatsmeow_app_state_sync_keys WHERE jid = $1", 4, func(v []any) {
		var f waE2E.AppStateSyncKeyFingerprint
		if err := proto.Unmarshal(v[2].([]byte), &f); err != nil {
			o.t.Fatal(err)
		}
		write("app-state-sync-key-"+base64.StdEncoding.EncodeToString(v[0].([]byte)), map[string]any{
			"keyData": base64.StdEncoding.EncodeToString(v[1].([]byte)), "timestamp": fmt.Sprint(v[3]),
			"fingerprint": map[string]any{"rawId": f.GetRawID(), "currentIndex": f.GetCurrentIndex(), "deviceIndexes": f.GetDeviceIndexes()},
		})
	})
	each("SELECT name, version, hash FROM whatsmeow_app_state_version WHERE jid = $1", 3, func(v []any) {
		macs := map[string]any{}
		each("SELECT index_mac, value_mac FROM whatsmeow_app_state_mutation_macs WHERE jid = $1 AND name = '"+v[0].(string)+"'", 2, func(m []any) {
			macs[base64.StdEncoding.EncodeToString(m[0].([]byte))] = map[string]any{"valueMac": buffer(m[1].([]byte))}
		})
		write("app-state-sync-version-"+v[0].(string), map[string]any{"version": v[1], "hash": buffer(v[2].([]byte)), "indexValueMap": macs})
	})
	each("SELECT lid, pn FROM whatsmeow_lid_map WHERE $1 <> ''", 2, func(v []any) {
		write("lid-mapping-"+v[1].(string), v[0])
		write("lid-mapping-"+v[0].(string)+"_reverse", v[1])
	})
	each("SELECT their_jid, token, timestamp FROM whatsmeow_privacy_tokens WHERE our_jid = $1", 3, func(v []any) {
		write("tctoken-"+v[0].(string), map[string]any{"token": buffer(v[1].([]byte)), "timestamp": fmt.Sprint(v[2])})
	})
	write("session-4915100000001.0", map[string]any{"version": "v1", "_sessions": map[string]any{}})
	write("sender-key-1203630@g.us--4915100000001--0", []any{})
	write("device-list-4915100000001", []any{"0"})
	return folder
}

// TestBaileysAccountKeepsChatting has the files of an account that chatted, and
// wants every text to arrive, those on sessions that were left out by a retry.
func TestBaileysAccountKeepsChatting(t *testing.T) {
	w := rig.NewWorld(t)
	w.Keep = true
	old := startOld(t, w.Sandbox, databasePath(t))
	c := old.chat(w, "4915155500003")
	c.client.Disconnect()
	device := c.client.Store
	folder := old.authState(device)
	old.stop()

	report := takeOver(w, 0, "baileys", "--from", folder, "--name", "shop", "--experimental", "--dry-run")
	if _, err := os.Stat(w.DataFile()); err == nil || !strings.Contains(report, "Nothing was written: 1 account would be imported") {
		t.Errorf("a dry run made a data file, or says something else:\n%s", report)
	}
	report = takeOver(w, 0, "baileys", "--from", folder, "--name", "shop", "--experimental")
	for _, want := range []string{"shop  " + device.ID.String(), "pre-keys", "app state", "pairs of LID and number", "sessions and sender keys of Baileys", "1 file session-*.json", "1 file sender-key-*.json", "1 file device-list-*.json", "of creds.json: accountSettings, routingInfo", "NEVER"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not say %q:\n%s", want, report)
		}
	}
	w.Start()
	token := tokenOf(w, "shop")
	w.AwaitOnline("shop", token)
	for i := range 4 {
		text := fmt.Sprintf("from her %d", i)
		if _, err := c.anne.SendText(t.Context(), c.own.JID(), text); err != nil {
			t.Fatal(err)
		}
		reads(w, text)
		text = fmt.Sprintf("in the group %d", i)
		if _, err := c.bob.SendText(t.Context(), c.group, text); err != nil {
			t.Fatal(err)
		}
		reads(w, text)
		for _, to := range []string{c.anne.Number(), c.group.String()} {
			text = fmt.Sprintf("to %s %d", to, i)
			w.Call(consumer.Bearer(token), "POST", "/instance/shop/send/text", rig.TextTo(to, text, 0), nil)
			gets(t, c.anne, text)
			if to == c.group.String() {
				gets(t, c.bob, text)
			}
		}
	}
	w.Stop()
	if w.Seen("messages.undecryptable") == 0 {
		t.Error("nothing was asked for again, so that it is not known that it can be")
	}
}
