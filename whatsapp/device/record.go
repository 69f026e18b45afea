package device

import (
	"bytes"
	"errors"

	"github.com/google/uuid"
	"go.mau.fi/whatsmeow/proto/waAdv"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"

	"postern/event"
	"postern/store"
)

func recordKey(instance int64) []byte { return store.Key(instance, byte('D')) }

// record is a stored device.
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

	Network event.Network `json:"network,omitempty"` // that paired the device; empty: unknown
	Aside   int64         `json:"aside,omitempty"`   // when its network logged it out, in Unix milliseconds of steady time; 0: never
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

// same reports whether both are one pairing: WhatsApp can assign a JID again.
func (r record) same(as record) bool { return r.JID == as.JID && bytes.Equal(r.Identity, as.Identity) }

// update copies the fields that may change while a device is paired.
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
