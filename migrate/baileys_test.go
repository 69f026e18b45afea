package migrate

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/whatsmeow/util/keys"
)

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// deviceKeys are those of a device, with the key of its account's phone.
type deviceKeys struct {
	noise, identity, preKey, phone         *keys.KeyPair
	details                                []byte
	signature, byPhone, byDevice, ofHosted [64]byte
}

var goodKeys = func() deviceKeys {
	k := deviceKeys{noise: keys.NewKeyPair(), identity: keys.NewKeyPair(), preKey: keys.NewKeyPair(), phone: keys.NewKeyPair(), details: full(6, 9)}
	signs := func(by *keys.KeyPair, parts ...[]byte) [64]byte {
		return ecc.CalculateSignature(ecc.NewDjbECPrivateKey(*by.Priv), slices.Concat(parts...))
	}
	k.signature = *k.identity.Sign(k.preKey)
	k.byPhone = signs(k.phone, []byte{6, 0}, k.details, k.identity.Pub[:])
	k.ofHosted = signs(k.phone, []byte{6, 5}, k.details, k.identity.Pub[:])
	k.byDevice = signs(k.identity, []byte{6, 1}, k.details, k.identity.Pub[:], k.phone.Pub[:])
	return k
}()

// goodCreds returns a creds.json in which bytes are written in each of the ways that there
// are.
func goodCreds() map[string]any {
	k := goodKeys
	buffer := func(b []byte) map[string]any { return map[string]any{"type": "Buffer", "data": base64Of(b)} }
	numbers := func(b []byte) map[string]any {
		all := make([]int, len(b))
		for i, c := range b {
			all[i] = int(c)
		}
		return map[string]any{"type": "Buffer", "data": all}
	}
	return map[string]any{
		"noiseKey":          map[string]any{"private": buffer(k.noise.Priv[:]), "public": buffer(k.noise.Pub[:])},
		"signedIdentityKey": map[string]any{"private": numbers(k.identity.Priv[:]), "public": buffer(append([]byte{5}, k.identity.Pub[:]...))},
		"signedPreKey":      map[string]any{"keyPair": map[string]any{"private": map[string]any{"buffer": true, "value": base64Of(k.preKey.Priv[:])}}, "signature": buffer(k.signature[:]), "keyId": 1},
		"registrationId":    123, "advSecretKey": base64Of(full(5, 32)), "nextPreKeyId": 31, "firstUnuploadedPreKeyId": "21",
		"me":           map[string]any{"id": annaDevice, "lid": "77:7@lid", "name": "Anna"},
		"account":      map[string]any{"details": base64Of(k.details), "accountSignature": base64Of(k.byPhone[:]), "accountSignatureKey": base64Of(k.phone.Pub[:]), "deviceSignature": buffer(k.byDevice[:])},
		"lastPropHash": "x", "routingInfo": buffer(full(1, 3)), "pairingCode": nil,
	}
}

func authState(t testing.TB, files map[string]any) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, v := range files {
		raw, isText := v.(string)
		if !isText {
			encoded, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			raw = string(encoded)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestTheFilesOfBaileysAreTakenOver has each kind, in the forms of several releases, and
// one of each that is broken.
func TestTheFilesOfBaileysAreTakenOver(t *testing.T) {
	key := map[string]any{"private": map[string]any{"type": "Buffer", "data": base64Of(full(1, 32))}}
	folder := authState(t, map[string]any{
		"creds.json": goodCreds(), "pre-key-20.json": key, "pre-key-40.json": key, "pre-key-x.json": key, "pre-key-5.json": "{",
		"pre-key-4.json":                    map[string]any{"private": base64Of(full(1, 32)), "public": base64Of(full(2, 32))},
		"app-state-sync-key-AAAAA+__=.json": "{", "app-state-sync-key-AAAAAOp_.json": map[string]any{}, "app-state-sync-key-AAAAAA==.json": map[string]any{
			"keyData": base64Of(full(1, 32)), "fingerprint": map[string]any{"rawId": 5, "currentIndex": 0, "deviceIndexes": []int{0, 1}}, "timestamp": "1700000000000",
		},
		"app-state-sync-version-regular.json": map[string]any{
			"version": 4, "hash": map[string]any{"type": "Buffer", "data": base64Of(full(1, 128))},
			"indexValueMap": map[string]any{base64Of(full(2, 32)): map[string]any{"valueMac": map[string]any{"type": "Buffer", "data": base64Of(full(3, 32))}}},
		},
		"app-state-sync-version-critical_block.json": map[string]any{"version": 4, "hash": base64Of(full(1, 127))},
		"lid-mapping-4915100000001.json":             `"99"`, "lid-mapping-99_reverse.json": `"4915100000001"`, "lid-mapping-4915100000002.json": `7`,
		"tctoken-4915100000001@s.whatsapp.net.json": map[string]any{"token": map[string]any{"type": "Buffer", "data": "AQ=="}, "timestamp": "1700000000"},
		"identity-key-99_1.3.json":                  map[string]any{"type": "Buffer", "data": base64Of(append([]byte{5}, full(1, 32)...))}, "identity-key-x.json": `"AQ=="`,
		"session-99_1.0.json": `{}`, "sender-key-memory-1@g.us.json": `{}`, "notes.txt": "x",
	})
	for _, from := range []string{folder, filepath.Join(folder, "creds.json")} {
		p, err := Baileys(t.Context(), from, "shop", options())
		if err != nil {
			t.Fatal(err)
		}
		var a *Account
		if err := p.Each(t.Context(), func(one *Account) error {
			a = one
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if a.Device.JID() != annaDevice || a.Import.Name != "shop" || a.Import.OwnerLID != "77@lid" || a.NewToken == "" || p.Len() != 1 || p.Unchanged(t.Context()) != nil {
			t.Errorf("%+v", a)
		}
		counts := fmt.Sprint(a.Counts)
		if from != folder {
			if counts != "[{identities 2}]" {
				t.Errorf("of creds.json alone %s", counts)
			}
			continue
		}
		if counts != "[{identities 2} {pre-keys 2} {app state keys 1} {app state versions and MACs 2} {pairs of LID and number 1} {privacy tokens 1} {identities of contacts 1}]" {
			t.Errorf("counts %s", counts)
		}
		says(
			t, a.Left, "3 rows of pre-keys", "pre-key-4.json: the public key does not belong to the private key", "2 rows of app state keys", "1 row of app state versions", "must have 128 bytes, not 127", "1 row of pairs", "1 row of identities of contacts",
			"1 file session-*.json", "1 file sender-key-memory-*.json", "1 file that Baileys does not write", "of creds.json: routingInfo",
		)
	}
}

// TestInvalidCredsAreRefusedByField changes one field at a time.
func TestInvalidCredsAreRefusedByField(t *testing.T) {
	for want, change := range map[string]func(c map[string]any){
		"never paired":                      func(c map[string]any) { delete(c, "me") },
		"me or account is missing":          func(c map[string]any) { delete(c, "account") },
		"the noise key must have 32":        func(c map[string]any) { delete(c, "noiseKey") },
		"not a Buffer":                      func(c map[string]any) { c["noiseKey"] = map[string]any{"private": 5} },
		"numbers that are not bytes":        func(c map[string]any) { c["noiseKey"] = map[string]any{"private": map[string]any{"data": []int{256}}} },
		"illegal base64":                    func(c map[string]any) { c["advSecretKey"] = "%%" },
		"not an integer":                    func(c map[string]any) { c["registrationId"] = "many" },
		"nextPreKeyId: the next id":         func(c map[string]any) { c["nextPreKeyId"] = 1 << 25 },
		"not the JID of a device":           func(c map[string]any) { c["me"] = map[string]any{"id": "x"} },
		"it is not a creds.json of Baileys": func(c map[string]any) { c["me"] = []int{1} },
	} {
		c := goodCreds()
		change(c)
		if _, err := Baileys(t.Context(), authState(t, map[string]any{"creds.json": c}), "shop", options()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "creds.json") {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
	taken := options()
	taken.Taken = map[string]int64{"shop": 1}
	folder := authState(t, map[string]any{"creds.json": goodCreds()})
	if _, err := Baileys(t.Context(), folder, "shop", taken); err == nil || !strings.Contains(err.Error(), `"shop" already exists here; give 4915112345678:7@s.whatsapp.net another name with --name NAME`) {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := Baileys(t.Context(), folder, "my shop", options()); err == nil || !strings.Contains(err.Error(), "--name: instanceName must have") {
		t.Errorf("a name with a space: %v", err)
	}
}

// TestKeysThatDoNotBelongTogetherAreRefused puts one part of another account into a file,
// and wants all to be named that do not fit it any more.
func TestKeysThatDoNotBelongTogetherAreRefused(t *testing.T) {
	other := keys.NewKeyPair()
	set := func(path string, v []byte) func(map[string]any) {
		return func(c map[string]any) {
			parts := strings.Split(path, ".")
			for _, p := range parts[:len(parts)-1] {
				c = c[p].(map[string]any)
			}
			c[parts[len(parts)-1]] = base64Of(v)
		}
	}
	refused := func(c map[string]any) string {
		_, err := Baileys(t.Context(), authState(t, map[string]any{"creds.json": c}), "shop", options())
		if err == nil {
			return ""
		}
		return err.Error()
	}
	const (
		noise, identity, preKey = "noiseKey: the public key", "signedIdentityKey: the public key", "signedPreKey.keyPair: the public key"
		ofPreKey                = "signedPreKey.signature does not verify with signedIdentityKey"
		byAccount, byDevice     = "account.accountSignature does not verify", "account.deviceSignature does not verify"
	)
	all := []string{noise, identity, preKey, ofPreKey, byAccount, byDevice}
	for path, c := range map[string]struct {
		v    []byte
		want []string
	}{
		"noiseKey.private":             {other.Priv[:], []string{noise}},
		"noiseKey.public":              {other.Pub[:], []string{noise}},
		"signedIdentityKey.private":    {other.Priv[:], []string{identity, ofPreKey, byAccount, byDevice}},
		"signedIdentityKey.public":     {other.Pub[:], []string{identity}},
		"signedPreKey.keyPair.public":  {other.Pub[:], []string{preKey}},
		"signedPreKey.keyPair.private": {other.Priv[:], []string{ofPreKey}},
		"signedPreKey.signature":       {full(1, 64), []string{ofPreKey}},
		"account.details":              {full(5, 9), []string{byAccount, byDevice}},
		"account.accountSignatureKey":  {other.Pub[:], []string{byAccount, byDevice}},
		"account.accountSignature":     {goodKeys.byDevice[:], []string{byAccount}},
		"account.deviceSignature":      {goodKeys.byPhone[:], []string{byDevice}},
	} {
		creds := goodCreds()
		set(path, c.v)(creds)
		said := refused(creds)
		for _, one := range all {
			if strings.Contains(said, one) != slices.Contains(c.want, one) {
				t.Errorf("another %s: %q, want it to name %q", path, said, c.want)
			}
		}
		if !strings.Contains(said, "creds.json: its keys do not belong together") {
			t.Errorf("another %s: %q", path, said)
		}
	}
	hosted := goodCreds()
	set("account.accountSignature", goodKeys.ofHosted[:])(hosted)
	if said := refused(hosted); said != "" {
		t.Errorf("a hosted account: %s", said)
	}
}

// FuzzBaileys wants an error or an account of any creds.json and any file beside it,
// and no crash.
func FuzzBaileys(f *testing.F) {
	creds, err := json.Marshal(goodCreds())
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range []string{`{"private":{"type":"Buffer","data":"AQ=="}}`, `"99"`, `{"version":1,"hash":"AQ==","indexValueMap":{"AQ==":{"valueMac":null}}}`, `{"keyData":{"data":[1,-1]},"timestamp":null}`, `null`, `[]`} {
		f.Add(creds, []byte(file))
	}
	f.Add([]byte(`{"me":{"id":"1@s.whatsapp.net"},"account":{"details":"AQ=="}}`), []byte(`{"token":""}`))
	f.Fuzz(func(t *testing.T, creds, file []byte) {
		a, err := baileysAccount(creds)
		if err != nil {
			if a, err = baileysAccount([]byte(goodCredsText)); err != nil {
				t.Fatal(err)
			}
		}
		for _, kind := range baileysKinds {
			for _, id := range []string{"1", "AAAA", "99_1.0", "a@lid"} {
				_, _ = kind.add(a, id, file)
			}
		}
	})
}

// goodCredsText is goodCreds as a file.
var goodCredsText = func() string {
	raw, _ := json.Marshal(goodCreds())
	return string(raw)
}()
