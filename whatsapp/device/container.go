package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/google/uuid"
	"go.mau.fi/util/random"
	"go.mau.fi/whatsmeow/proto/waAdv"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"

	"postern/store"
)

const (
	deviceBucket = "device"
	lidBucket    = "lid_map"
)

// Buckets returns the buckets of this package.
func Buckets() []store.Bucket {
	return []store.Bucket{
		{Name: deviceBucket, Owner: "whatsapp/device", Key: "instance id + kind + rest", Value: "keys, sessions and settings of a paired device, by kind"},
		{Name: lidBucket, Owner: "whatsapp/device", Key: "l + LID user, p + phone", Value: "the other one"},
	}
}

// Container holds the devices of all instances. Its methods may be called from
// any goroutine.
type Container struct {
	store *store.Store
	log   *slog.Logger
	lids  *lidMap
}

// Open reads the LID map. A nil log discards.
func Open(st *store.Store, log *slog.Logger) (*Container, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	lids, err := openLIDMap(st)
	if err != nil {
		return nil, fmt.Errorf("device: load LID map: %w", err)
	}
	return &Container{store: st, log: log.With("component", "device"), lids: lids}, nil
}

// New returns an unpaired device with fresh keys. Nothing is stored until the
// library saves it, after pairing, under that instance.
func (c *Container) New(instance int64) *wastore.Device {
	d := &wastore.Device{
		Container:      view{c, instance},
		LIDs:           c.lids,
		NoiseKey:       keys.NewKeyPair(),
		IdentityKey:    keys.NewKeyPair(),
		RegistrationID: rand.Uint32(),
		AdvSecretKey:   random.Bytes(32),
	}
	d.SignedPreKey = d.IdentityKey.CreateSignedPreKey(1)
	return d
}

// Load returns the paired device of an instance, nil when there is none. A
// record that cannot be read is an error that wraps store.ErrDamaged where
// that is the cause.
func (c *Container) Load(_ context.Context, instance int64) (*wastore.Device, error) {
	var rec record
	var found bool
	err := c.store.View(func(tx *store.Tx) (err error) {
		rec, found, err = store.GetJSON[record](tx, deviceBucket, recordKey(instance))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("device of instance %d: %w", instance, err)
	}
	if !found {
		return nil, nil
	}
	d, err := rec.device()
	if err != nil {
		return nil, fmt.Errorf("device of instance %d: %w", instance, err)
	}
	d.Container = view{c, instance}
	c.initialise(d, instance)
	return d, nil
}

// Delete removes everything that belongs to the instance's device. That there
// is none is no error.
func (c *Container) Delete(ctx context.Context, instance int64) error {
	err := c.store.Update(ctx, func(tx *store.Tx) error { return c.DeleteTx(tx, instance) })
	if err != nil {
		return fmt.Errorf("delete device of instance %d: %w", instance, err)
	}
	return nil
}

// DeleteTx is Delete as part of the caller's commit.
func (c *Container) DeleteTx(tx *store.Tx, instance int64) error {
	var all [][]byte
	err := tx.Scan(deviceBucket, store.Range{Prefix: store.Key(instance)}, func(k, _ []byte) (bool, error) {
		all = append(all, k)
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, k := range all {
		if err := tx.Delete(deviceBucket, k); err != nil {
			return err
		}
	}
	return nil
}

func (c *Container) initialise(d *wastore.Device, instance int64) {
	d.SetAllStores(newAccount(c, instance))
	d.LIDs = c.lids
	d.Initialized = true
}

// view is the container as one instance's device sees it: the library hands a
// device back without saying whose it is.
type view struct {
	c        *Container
	instance int64
}

var _ wastore.DeviceContainer = view{}

// PutDevice stores a device after pairing, and later its changed names and
// settings: keys never change. A device that was paired anew replaces the
// former one with everything that belonged to it.
func (v view) PutDevice(ctx context.Context, d *wastore.Device) error {
	if d.ID == nil {
		return errors.New("device: a device without JID cannot be stored")
	}
	fresh := newRecord(d)
	err := v.c.store.Update(ctx, func(tx *store.Tx) error {
		known, found, err := store.GetJSON[record](tx, deviceBucket, recordKey(v.instance))
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		if found && known.JID == fresh.JID {
			known.update(fresh)
			return store.PutJSON(tx, deviceBucket, recordKey(v.instance), known)
		}
		if err := v.c.DeleteTx(tx, v.instance); err != nil {
			return err
		}
		return store.PutJSON(tx, deviceBucket, recordKey(v.instance), fresh)
	})
	if err != nil {
		return fmt.Errorf("store device of instance %d: %w", v.instance, err)
	}
	if !d.Initialized {
		v.c.initialise(d, v.instance)
	}
	return nil
}

// DeleteDevice removes a device with everything of it, unless the instance was
// paired anew meanwhile: the library deletes in the background.
func (v view) DeleteDevice(ctx context.Context, d *wastore.Device) error {
	if d.ID == nil {
		return errors.New("device: a device without JID cannot be deleted")
	}
	jid := *d.ID
	err := v.c.store.Update(ctx, func(tx *store.Tx) error {
		known, found, err := store.GetJSON[record](tx, deviceBucket, recordKey(v.instance))
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		if found && known.JID != jid {
			return nil
		}
		return v.c.DeleteTx(tx, v.instance)
	})
	if err != nil {
		return fmt.Errorf("delete device of instance %d: %w", v.instance, err)
	}
	return nil
}

// record is a device as it is stored.
type record struct {
	JID            types.JID `json:"jid"`
	LID            types.JID `json:"lid"`
	RegistrationID uint32    `json:"registrationId"`
	Noise          []byte    `json:"noise"`    // private keys
	Identity       []byte    `json:"identity"` //
	SignedPreKey   []byte    `json:"signedPreKey"`
	SignedPreKeyID uint32    `json:"signedPreKeyId"`
	Signature      []byte    `json:"signature"`
	AdvSecret      []byte    `json:"advSecret"`

	Details             []byte `json:"details"` // of the account's signature over this device
	AccountSignature    []byte `json:"accountSignature"`
	AccountSignatureKey []byte `json:"accountSignatureKey"`
	DeviceSignature     []byte `json:"deviceSignature"`

	Platform              string    `json:"platform"`
	BusinessName          string    `json:"businessName"`
	PushName              string    `json:"pushName"`
	FacebookUUID          uuid.UUID `json:"facebookUuid"`
	LIDMigrationTimestamp int64     `json:"lidMigrationTimestamp"`
	CompanionMetaNonce    string    `json:"companionMetaNonce"`
}

func newRecord(d *wastore.Device) record {
	r := record{
		JID: *d.ID, LID: d.LID, RegistrationID: d.RegistrationID,
		Noise: d.NoiseKey.Priv[:], Identity: d.IdentityKey.Priv[:],
		SignedPreKey: d.SignedPreKey.Priv[:], SignedPreKeyID: d.SignedPreKey.KeyID,
		AdvSecret: d.AdvSecretKey,
		Platform:  d.Platform, BusinessName: d.BusinessName, PushName: d.PushName, FacebookUUID: d.FacebookUUID,
		LIDMigrationTimestamp: d.LIDMigrationTimestamp, CompanionMetaNonce: d.CompanionMetaNonce,
	}
	if d.SignedPreKey.Signature != nil {
		r.Signature = d.SignedPreKey.Signature[:]
	}
	if a := d.Account; a != nil {
		r.Details, r.AccountSignature, r.AccountSignatureKey, r.DeviceSignature =
			a.Details, a.AccountSignature, a.AccountSignatureKey, a.DeviceSignature
	}
	return r
}

// update takes over what may change in the life of a device.
func (r *record) update(from record) {
	r.LID, r.Platform, r.BusinessName, r.PushName = from.LID, from.Platform, from.BusinessName, from.PushName
	r.LIDMigrationTimestamp, r.CompanionMetaNonce = from.LIDMigrationTimestamp, from.CompanionMetaNonce
}

func (r record) device() (*wastore.Device, error) {
	if len(r.Noise) != 32 || len(r.Identity) != 32 || len(r.SignedPreKey) != 32 || len(r.Signature) != 64 || r.JID.IsEmpty() {
		return nil, errors.New("the record is incomplete")
	}
	signature := [64]byte(r.Signature)
	jid := r.JID
	return &wastore.Device{
		ID: &jid, LID: r.LID, RegistrationID: r.RegistrationID,
		NoiseKey:    keys.NewKeyPairFromPrivateKey([32]byte(r.Noise)),
		IdentityKey: keys.NewKeyPairFromPrivateKey([32]byte(r.Identity)),
		SignedPreKey: &keys.PreKey{
			KeyPair: *keys.NewKeyPairFromPrivateKey([32]byte(r.SignedPreKey)), KeyID: r.SignedPreKeyID, Signature: &signature,
		},
		AdvSecretKey: r.AdvSecret,
		Account: &waAdv.ADVSignedDeviceIdentity{
			Details: r.Details, AccountSignature: r.AccountSignature,
			AccountSignatureKey: r.AccountSignatureKey, DeviceSignature: r.DeviceSignature,
		},
		Platform: r.Platform, BusinessName: r.BusinessName, PushName: r.PushName, FacebookUUID: r.FacebookUUID,
		LIDMigrationTimestamp: r.LIDMigrationTimestamp, CompanionMetaNonce: r.CompanionMetaNonce,
	}, nil
}

func recordKey(instance int64) []byte { return store.Key(instance, byte('D')) }

// decode reads JSON that this package wrote.
func decode(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	return nil
}
