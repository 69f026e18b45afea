package migrate

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"postern/instance"
	"postern/whatsapp/device"
)

// maxFile is the maximum size of a file of an auth state, in bytes.
const maxFile = 64 << 20

// credsFile is the file that every auth state has.
const credsFile = "creds.json"

// Baileys plans the import of an account of Baileys' multi-file auth state: a folder,
// or its creds.json alone. Sessions and sender keys have another format there and are
// left out: contacts whose messages cannot be decrypted without them are asked to send
// them again.
func Baileys(ctx context.Context, from, name string, o Options) (*Plan, error) {
	p := &Plan{o: &o}
	if err := instance.CheckName(name); err != nil {
		return nil, fmt.Errorf("--name: %w", err)
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	folder, creds := from, filepath.Join(from, credsFile)
	if !info.IsDir() {
		folder, creds = "", from
	}
	raw, err := readFile(creds)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s has no %s: it is not an auth state of Baileys", from, credsFile)
	}
	if err != nil {
		return nil, err
	}
	a, err := baileysAccount(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", creds, err)
	}
	p.accounts = []*planned{{jid: a.Device.JID(), name: name}}
	if p.accounts, err = p.free(p.accounts); err != nil {
		return nil, err
	}
	if folder != "" {
		if err := a.baileysFolder(ctx, folder); err != nil {
			return nil, err
		}
	}
	a.left("sessions and sender keys of Baileys: new ones are created, and messages that cannot be decrypted meanwhile are requested again")
	a.settle()
	o.identify(a, name, "")
	p.baileys = a
	return p, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s must be a file of at most %d bytes", path, maxFile)
	}
	return os.ReadFile(path)
}

// buffer is bytes as Baileys writes them: {"type":"Buffer","data":…} with base64 or a
// list of numbers, or base64 alone.
type buffer []byte

// UnmarshalJSON reads any of the forms.
func (b *buffer) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		decoded, err := base64.StdEncoding.DecodeString(text)
		*b = decoded
		return err
	}
	var wrapped struct {
		Data  json.RawMessage `json:"data"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(raw, &wrapped); err != nil {
		return errors.New("it is not a Buffer")
	}
	data := wrapped.Data
	if data == nil {
		data = wrapped.Value
	}
	var numbers []int
	if json.Unmarshal(data, &numbers) == nil {
		*b = make([]byte, len(numbers))
		for i, n := range numbers {
			if n < 0 || n > 255 {
				return errors.New("a Buffer has numbers that are not bytes")
			}
			(*b)[i] = byte(n)
		}
		return nil
	}
	if data == nil || json.Unmarshal(data, &text) != nil {
		return errors.New("it is not a Buffer")
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	*b = decoded
	return err
}

// whole is an integer as JavaScript's libraries write it: a number or a text.
type whole int64

// UnmarshalJSON reads either form; null is 0.
func (n *whole) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if text == "null" || text == "" {
		return nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%.40q is not an integer", text)
	}
	*n = whole(v)
	return nil
}

type keyPair struct {
	Private buffer `json:"private"`
	Public  buffer `json:"public"`
}

// check returns an error if the public key does not match the private key.
// A missing one is accepted.
func (k keyPair) check() error {
	own, err := ecdh.X25519().NewPrivateKey(k.Private)
	if err != nil {
		return fmt.Errorf("the private key must have 32 bytes, not %d", len(k.Private))
	}
	if len(k.Public) > 0 && !bytes.Equal(untyped(k.Public), own.PublicKey().Bytes()) {
		return errors.New("the public key does not belong to the private key")
	}
	return nil
}

// untyped returns a public key without its type byte.
func untyped(key []byte) []byte {
	if len(key) == 33 && key[0] == 5 {
		return key[1:]
	}
	return key
}

// creds is what is read of creds.json.
type creds struct {
	NoiseKey          keyPair `json:"noiseKey"`
	SignedIdentityKey keyPair `json:"signedIdentityKey"`
	SignedPreKey      struct {
		KeyPair   keyPair `json:"keyPair"`
		Signature buffer  `json:"signature"`
		KeyID     whole   `json:"keyId"`
	} `json:"signedPreKey"`
	RegistrationID whole  `json:"registrationId"`
	AdvSecretKey   buffer `json:"advSecretKey"`
	Me             struct {
		ID   string `json:"id"`
		LID  string `json:"lid"`
		Name string `json:"name"`
	} `json:"me"`
	Account struct {
		Details             buffer `json:"details"`
		AccountSignatureKey buffer `json:"accountSignatureKey"`
		AccountSignature    buffer `json:"accountSignature"`
		DeviceSignature     buffer `json:"deviceSignature"`
	} `json:"account"`
	Platform                string `json:"platform"`
	NextPreKeyID            whole  `json:"nextPreKeyId"`
	FirstUnuploadedPreKeyID whole  `json:"firstUnuploadedPreKeyId"`
}

// credsRead are the imported keys of creds.json, and those without information
// once an account is paired.
var credsRead = []string{
	"noiseKey", "signedIdentityKey", "signedPreKey", "registrationId", "advSecretKey", "me", "account", "platform", "nextPreKeyId", "firstUnuploadedPreKeyId", "signalIdentities",
	"pairingEphemeralKeyPair", "registered", "pairingCode", "accountSyncCounter", "processedHistoryMessages", "lastAccountSyncTimestamp", "lastPropHash", "myAppStateKeyId", "additionalData",
}

// checkKeys returns an error that names the keys which do not belong together: WhatsApp
// would refuse such a device, or recipients could not read its messages.
func (c *creds) checkKeys(own device.Credentials) error {
	var wrong []string
	for _, k := range []struct {
		name string
		pair keyPair
	}{{"noiseKey", c.NoiseKey}, {"signedIdentityKey", c.SignedIdentityKey}, {"signedPreKey.keyPair", c.SignedPreKey.KeyPair}} {
		if err := k.pair.check(); err != nil {
			wrong = append(wrong, k.name+": "+err.Error())
		}
	}
	preKey, account, device := own.Signatures()
	for _, s := range []struct {
		verifies   bool
		name, with string
	}{
		{preKey, "signedPreKey.signature", "signedIdentityKey"},
		{account, "account.accountSignature", "account.accountSignatureKey over signedIdentityKey"},
		{device, "account.deviceSignature", "signedIdentityKey over account.accountSignatureKey"},
	} {
		if !s.verifies {
			wrong = append(wrong, s.name+" does not verify with "+s.with)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("its keys do not belong together: %s; the file is damaged, or was put together from those of several accounts: take the folder as Baileys left it, or pair the account again", strings.Join(wrong, "; "))
	}
	return nil
}

// baileysAccount returns the account of a creds.json.
func baileysAccount(raw []byte) (*Account, error) {
	var c creds
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("it is not a creds.json of Baileys: %w", err)
	}
	if c.Me.ID == "" || len(c.Account.Details) == 0 {
		return nil, errors.New("the account was never paired: me or account is missing")
	}
	own := device.Credentials{
		JID: c.Me.ID, LID: c.Me.LID, RegistrationID: small(int64(c.RegistrationID)),
		Noise: c.NoiseKey.Private, Identity: c.SignedIdentityKey.Private,
		SignedPreKey: c.SignedPreKey.KeyPair.Private, SignedPreKeyID: small(int64(c.SignedPreKey.KeyID)), Signature: c.SignedPreKey.Signature,
		AdvSecret: c.AdvSecretKey, Details: c.Account.Details, AccountSignature: c.Account.AccountSignature,
		AccountSignatureKey: c.Account.AccountSignatureKey, DeviceSignature: c.Account.DeviceSignature,
		Platform: c.Platform, PushName: c.Me.Name,
	}
	i, err := device.NewImage(own)
	if err == nil {
		err = c.checkKeys(own)
	}
	if err != nil {
		return nil, err
	}
	a := &Account{Device: i, uploaded: int64(c.FirstUnuploadedPreKeyID)}
	if c.NextPreKeyID > 0 {
		if err := i.PreKeysFrom(small(int64(c.NextPreKeyID))); err != nil {
			return nil, fmt.Errorf("nextPreKeyId: %w", err)
		}
	}
	// The identity of the account's phone, which signed this device.
	for _, address := range device.PhoneAddresses(i) {
		if err := i.AddIdentity(address, c.Account.AccountSignatureKey); err != nil {
			return nil, err
		}
	}
	a.count("identities", len(device.PhoneAddresses(i)))
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	var left []string
	for key, v := range all {
		if !slices.Contains(credsRead, key) && !isNothing(string(v)) && string(v) != `""` {
			left = append(left, cut(key, shownValue))
		}
	}
	if slices.Sort(left); len(left) > 0 {
		a.left("of %s: %s", credsFile, strings.Join(left, ", "))
	}
	return a, nil
}
