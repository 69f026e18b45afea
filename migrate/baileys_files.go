package migrate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"postern/internal/plural"
	"postern/whatsapp/device"
)

// baileysKind is a kind of file in the folder of an auth state, by how its name begins.
type baileysKind struct {
	prefix string
	what   string // in words, for the report
	add    func(a *Account, id string, raw []byte) (int, error)
}

// baileysKinds are the imported kinds. Names of files have - for : and __ for /.
var baileysKinds = []baileysKind{
	{"pre-key-", "pre-keys", (*Account).baileysPreKey},
	{"app-state-sync-key-", "app state keys", (*Account).baileysAppStateKey},
	{"app-state-sync-version-", "app state versions and MACs", (*Account).baileysAppStateVersion},
	{"lid-mapping-", "pairs of LID and number", (*Account).baileysPair},
	{"tctoken-", "privacy tokens", (*Account).baileysToken},
	{"identity-key-", "identities of contacts", (*Account).baileysIdentity},
}

// baileysLeft are kinds that have no place here, and come back by themselves.
var baileysLeft = []string{"session-", "sender-key-memory-", "sender-key-", "device-list-"}

// baileysFolder adds what the files beside creds.json say.
func (a *Account) baileysFolder(ctx context.Context, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	counts, others := map[string]int{}, map[string]int{}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		stem, isJSON := strings.CutSuffix(e.Name(), ".json")
		if e.Name() == credsFile {
			continue
		}
		i := slices.IndexFunc(baileysKinds, func(k baileysKind) bool { return strings.HasPrefix(stem, k.prefix) })
		if !isJSON || e.IsDir() || i < 0 {
			others[otherKindOf(stem)]++
			continue
		}
		kind := baileysKinds[i]
		raw, err := readFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		n, err := kind.add(a, strings.TrimPrefix(stem, kind.prefix), raw)
		if err != nil {
			a.leave(kind.what, fmt.Errorf("%s: %w", e.Name(), err))
			continue
		}
		counts[kind.what] += n
	}
	for _, kind := range baileysKinds {
		a.count(kind.what, counts[kind.what])
	}
	for _, what := range slices.Sorted(maps.Keys(others)) {
		a.left("%s %s", plural.Of(others[what], "file"), what)
	}
	return nil
}

// otherKindOf names a file that is not imported.
func otherKindOf(stem string) string {
	for _, prefix := range baileysLeft {
		if strings.HasPrefix(stem, prefix) {
			return prefix + "*.json"
		}
	}
	return "that Baileys does not write"
}

func (a *Account) baileysPreKey(id string, raw []byte) (int, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0, errors.New("the name has no number")
	}
	var pair keyPair
	if err := json.Unmarshal(raw, &pair); err != nil {
		return 0, err
	}
	if err := pair.check(); err != nil {
		return 0, err
	}
	return 1, a.Device.AddPreKey(small(n), pair.Private, n < a.uploaded)
}

func (a *Account) baileysAppStateKey(id string, raw []byte) (int, error) {
	keyID, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(id, "__", "/"))
	if err != nil {
		return 0, errors.New("the name has no id in base64")
	}
	var key struct {
		KeyData     buffer `json:"keyData"`
		Fingerprint struct {
			RawID         whole   `json:"rawId"`
			CurrentIndex  whole   `json:"currentIndex"`
			DeviceIndexes []whole `json:"deviceIndexes"`
		} `json:"fingerprint"`
		Timestamp whole `json:"timestamp"`
	}
	if err := json.Unmarshal(raw, &key); err != nil {
		return 0, err
	}
	f := key.Fingerprint
	indexes := make([]uint32, len(f.DeviceIndexes))
	for i, n := range f.DeviceIndexes {
		indexes[i] = small(int64(n))
	}
	fingerprint, err := device.Fingerprint(small(int64(f.RawID)), small(int64(f.CurrentIndex)), indexes)
	if err != nil {
		return 0, err
	}
	return 1, a.Device.AddAppStateKey(keyID, key.KeyData, fingerprint, int64(key.Timestamp))
}

func (a *Account) baileysAppStateVersion(name string, raw []byte) (int, error) {
	var state struct {
		Version       whole  `json:"version"`
		Hash          buffer `json:"hash"`
		IndexValueMap map[string]struct {
			ValueMAC buffer `json:"valueMac"`
		} `json:"indexValueMap"`
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		return 0, err
	}
	version := uint64(max(0, state.Version)) //nolint:gosec // not negative
	type mac struct{ index, value []byte }
	var macs []mac
	for index, v := range state.IndexValueMap {
		decoded, err := base64.StdEncoding.DecodeString(index)
		if err != nil || len(decoded) != 32 || len(v.ValueMAC) != 32 {
			return 0, errors.New("a MAC does not have 32 bytes in base64")
		}
		macs = append(macs, mac{decoded, v.ValueMAC})
	}
	if err := a.Device.AddAppStateVersion(name, version, state.Hash); err != nil {
		return 0, err
	}
	for _, m := range macs {
		if err := a.Device.AddMutationMAC(name, version, m.index, m.value); err != nil {
			return 0, err
		}
	}
	return 1 + len(macs), nil
}

// baileysPair reads the file of a number, which has its LID; that of a LID says the
// same again.
func (a *Account) baileysPair(id string, raw []byte) (int, error) {
	if strings.HasSuffix(id, "_reverse") {
		return 0, nil
	}
	var lid string
	if err := json.Unmarshal(raw, &lid); err != nil {
		return 0, err
	}
	return 1, a.Device.AddLIDPair(lid, id)
}

func (a *Account) baileysToken(jid string, raw []byte) (int, error) {
	var token struct {
		Token           buffer `json:"token"`
		Timestamp       whole  `json:"timestamp"`
		SenderTimestamp whole  `json:"senderTimestamp"`
	}
	if err := json.Unmarshal(raw, &token); err != nil {
		return 0, err
	}
	if len(token.Token) == 0 {
		return 0, errors.New("it has no token")
	}
	at := int64(token.Timestamp)
	if at > time.Now().AddDate(100, 0, 0).Unix() {
		at /= 1000 // of a release that wrote milliseconds
	}
	return 1, a.Device.AddPrivacyToken(jid, token.Token, at, int64(token.SenderTimestamp))
}

// baileysAddress is how Baileys writes a Signal address: user, dot, device.
var baileysAddress = regexp.MustCompile(`^([0-9]+(?:_[0-9]+)?)\.([0-9]+)$`)

func (a *Account) baileysIdentity(id string, raw []byte) (int, error) {
	parts := baileysAddress.FindStringSubmatch(id)
	if parts == nil {
		return 0, errors.New("the name has no address")
	}
	var key buffer
	if err := json.Unmarshal(raw, &key); err != nil {
		return 0, err
	}
	return 1, a.Device.AddIdentity(parts[1]+":"+parts[2], untyped(key))
}
