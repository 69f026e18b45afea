package device

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
	"postern/store/schema"
)

// Credentials are a device as stored by the program that paired it. Keys are private
// keys of 32 bytes.
type Credentials struct {
	JID, LID       string // LID may be empty
	RegistrationID uint32
	Noise          []byte
	Identity       []byte
	SignedPreKey   []byte
	SignedPreKeyID uint32
	Signature      []byte // of the signed pre-key, 64 bytes
	AdvSecret      []byte

	Details             []byte // of the account's signature over this device
	AccountSignature    []byte // 64 bytes
	AccountSignatureKey []byte // 32 bytes
	DeviceSignature     []byte // 64 bytes

	Platform, BusinessName, PushName string
	FacebookUUID                     string // empty: none
	LIDMigrationTimestamp            int64
	CompanionMetaNonce               string
}

// Image is a complete device of another program, to be stored in the file: its
// credentials and all its data. The Add methods validate at once, so that storing
// cannot fail on content. Each returns an error with the violated rule, and then adds
// nothing. An Image must not be used concurrently.
type Image struct {
	rec      record
	writes   map[string][]byte // by key
	sessions map[string][]byte // by address, in the library's form
	pairs    []lidPair
	nextID   uint32 // of pre-keys
	weak     bool   // pairs of the LID map do not replace known ones
}

// NewImage returns an image of a device with only its credentials. The error names the
// field and its rule.
func NewImage(c Credentials) (*Image, error) {
	jid, err := accountJID(c.JID)
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name  string
		value []byte
		size  int
	}{
		{"the noise key", c.Noise, 32},
		{"the identity key", c.Identity, 32},
		{"the signed pre-key", c.SignedPreKey, 32},
		{"the signature of the signed pre-key", c.Signature, 64},
		{"the account's signature", c.AccountSignature, 64},
		{"the account's signature key", c.AccountSignatureKey, 32},
		{"the device's signature", c.DeviceSignature, 64},
	} {
		if len(f.value) != f.size {
			return nil, fmt.Errorf("%s must have %d bytes, not %d", f.name, f.size, len(f.value))
		}
	}
	switch {
	case len(c.Details) == 0:
		return nil, errors.New("the details of the account's signature must not be empty")
	case c.SignedPreKeyID > maxPreKeyID:
		return nil, fmt.Errorf("the id of the signed pre-key must be at most %d", maxPreKeyID)
	}
	i := &Image{writes: map[string][]byte{}, sessions: map[string][]byte{}, nextID: 1}
	i.rec = record{
		JID: jid, RegistrationID: c.RegistrationID,
		Noise: c.Noise, Identity: c.Identity, SignedPreKey: c.SignedPreKey, SignedPreKeyID: c.SignedPreKeyID, Signature: c.Signature,
		AdvSecret: c.AdvSecret, Details: c.Details, AccountSignature: c.AccountSignature, AccountSignatureKey: c.AccountSignatureKey, DeviceSignature: c.DeviceSignature,
		Platform: c.Platform, BusinessName: c.BusinessName, PushName: c.PushName,
		LIDMigrationTimestamp: c.LIDMigrationTimestamp, CompanionMetaNonce: c.CompanionMetaNonce,
	}
	if c.LID != "" {
		if i.rec.LID, err = types.ParseJID(c.LID); err != nil || i.rec.LID.Server != types.HiddenUserServer {
			return nil, fmt.Errorf("%.100q is not a LID", c.LID)
		}
	}
	if c.FacebookUUID != "" {
		if i.rec.FacebookUUID, err = uuid.Parse(c.FacebookUUID); err != nil {
			return nil, fmt.Errorf("%.100q is not a UUID", c.FacebookUUID)
		}
	}
	return i, nil
}

func accountJID(text string) (types.JID, error) {
	jid, err := types.ParseJID(text)
	if err != nil || jid.User == "" || jid.Server != types.DefaultUserServer {
		return jid, fmt.Errorf("%.100q is not the JID of a device", text)
	}
	return jid, nil
}

// AccountOf returns the JID of the account of a device's JID, and the latter in the
// library's form.
func AccountOf(device string) (account, exact string, err error) {
	jid, err := accountJID(device)
	if err != nil {
		return "", "", err
	}
	return jid.ToNonAD().String(), jid.String(), nil
}

// JID returns the JID of the device.
func (i *Image) JID() string { return i.rec.JID.String() }

// Account returns the JID of the account.
func (i *Image) Account() string { return i.rec.JID.ToNonAD().String() }

// AccountLID returns the LID of the account, "" if unknown.
func (i *Image) AccountLID() string {
	if i.rec.LID.IsEmpty() {
		return ""
	}
	return i.rec.LID.ToNonAD().String()
}

// PhoneAddresses returns the Signal addresses of the account's phone.
func PhoneAddresses(i *Image) []string {
	all := []string{i.rec.JID.ToNonAD().SignalAddress().String()}
	if !i.rec.LID.IsEmpty() {
		all = append(all, i.rec.LID.ToNonAD().SignalAddress().String())
	}
	return all
}

// PushName returns the name that the account shows.
func (i *Image) PushName() string { return i.rec.PushName }

// Size returns the approximate size of the image in bytes.
func (i *Image) Size() (n int) {
	for k, v := range i.writes {
		n += len(k) + len(v)
	}
	for k, v := range i.sessions {
		n += len(k) + len(v)
	}
	return n
}

// StoreTx stores the image as the device of an instance that has none, in the caller's
// transaction. [Container.Learn] then adds the pairs of its LID map.
func (c *Container) StoreTx(tx *store.Tx, instance int64, i *Image) error {
	if tx.Has(deviceBucket, recordKey(instance)) {
		return fmt.Errorf("device: instance %d already has one", instance)
	}
	x := direct{tx, instance}
	if err := store.PutJSON(tx, deviceBucket, recordKey(instance), i.rec); err != nil {
		return err
	}
	writes := maps.Clone(i.writes)
	for address, session := range i.sessions {
		writes[string(sessionKey(address))] = c.encodeRestored(session)
	}
	// In key order: within one transaction bbolt splits no page, and an insertion
	// among a hundred thousand keys moves half of them.
	for _, k := range slices.Sorted(maps.Keys(writes)) {
		if err := x.put([]byte(k), writes[k]); err != nil {
			return err
		}
	}
	if err := storePairs(tx, i.pairs, i.weak); err != nil {
		return err
	}
	return x.put(nextPreKeyKey, store.Key(i.nextID))
}

// Learn adds the pairs of a stored image to the LID map.
func (c *Container) Learn(i *Image) {
	c.lids.change.Lock()
	defer c.lids.change.Unlock()
	c.lids.learn(i.pairs, i.weak)
}

// Receive calls commit, which stores an image by StoreTx, and then adds its pairs. No
// other pair is stored in between, as the program may be running.
func (c *Container) Receive(i *Image, commit func() error) error {
	c.lids.change.Lock()
	err := commit()
	if err == nil {
		c.lids.learn(i.pairs, i.weak)
	}
	c.lids.change.Unlock()
	if paired := c.lids.paired.Load(); err == nil && paired != nil {
		(*paired)()
	}
	return err
}

// SameDevice reports whether two instances have the keys of one device.
func (c *Container) SameDevice(a, b int64) (same bool, err error) {
	err = c.store.View(func(tx *store.Tx) error {
		one, found, err := store.GetJSON[record](tx, deviceBucket, recordKey(a))
		if err != nil || !found {
			return err
		}
		other, found, err := store.GetJSON[record](tx, deviceBucket, recordKey(b))
		same = err == nil && found && one.same(other)
		return err
	})
	return same, err
}

// DevicesIn returns, by instance, the JIDs of the devices in a data file that no
// program has open. buckets and errors are those of store.ScanFile.
func DevicesIn(path string, buckets []schema.Bucket) (map[int64]string, error) {
	jids := map[int64]string{}
	err := store.ScanFile(path, buckets, deviceBucket, func(k, v []byte) error {
		var rec record
		if len(k) == 9 && k[8] == 'D' && json.Unmarshal(v, &rec) == nil { // a damaged one connects nowhere
			jids[int64(binary.BigEndian.Uint64(k))] = rec.JID.String() //nolint:gosec // as written
		}
		return nil
	})
	return jids, err
}
