package handset

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/whatsmeow/proto/waAdv"
	"google.golang.org/protobuf/proto"
)

// qrPrefix is the URL before a companion's code.
const qrPrefix = "https://wa.me/settings/linked_devices#"

// QR is the code that a companion device shows.
type QR struct {
	Ref         string // identifies the companion's waiting connection
	NoisePub    [32]byte
	IdentityPub [32]byte
	AdvSecret   []byte // 32 bytes; proves to the companion that its code was scanned
	ClientType  string
}

// ParseQR parses a code with its URL prefix. Errors are ErrQR and name the field, never
// its content.
func ParseQR(text string) (QR, error) {
	rest, ok := strings.CutPrefix(text, qrPrefix)
	if !ok {
		return QR{}, fmt.Errorf("parse QR: the text does not begin with %s: %w", qrPrefix, ErrQR)
	}
	fields := strings.Split(rest, ",")
	if len(fields) != 5 {
		return QR{}, fmt.Errorf("parse QR: %d fields, want 5: %w", len(fields), ErrQR)
	}
	if fields[0] == "" || fields[4] == "" {
		return QR{}, fmt.Errorf("parse QR: the reference or the client type is empty: %w", ErrQR)
	}
	var raw [3][]byte
	for i, name := range []string{"noise key", "identity key", "ADV secret"} {
		key, err := base64.StdEncoding.Strict().DecodeString(fields[i+1])
		if err != nil || len(key) != 32 {
			return QR{}, fmt.Errorf("parse QR: %s is not 32 bytes of base64: %w", name, ErrQR)
		}
		raw[i] = key
	}
	return QR{
		Ref: fields[0], NoisePub: [32]byte(raw[0]), IdentityPub: [32]byte(raw[1]),
		AdvSecret: raw[2], ClientType: fields[4],
	}, nil
}

// String returns the text that ParseQR parses. It contains the ADV secret.
func (q QR) String() string {
	encode := base64.StdEncoding.EncodeToString
	return qrPrefix + strings.Join([]string{
		q.Ref, encode(q.NoisePub[:]), encode(q.IdentityPub[:]), encode(q.AdvSecret), q.ClientType,
	}, ",")
}

// The first two bytes of a signed device identity identify the signer.
var (
	accountPrefix = []byte{6, 0}
	devicePrefix  = []byte{6, 1}
)

// SignDevice returns the content of pair-success's <device-identity>: the companion's
// identity key signed with the account key, under an HMAC with the companion's secret.
func (h *Handset) SignDevice(identityPub [32]byte, advSecret []byte, keyIndex uint32) ([]byte, error) {
	if len(advSecret) != 32 {
		return nil, fmt.Errorf("sign device: ADV secret has %d bytes: %w", len(advSecret), ErrIdentity)
	}
	details, err := proto.Marshal(&waAdv.ADVDeviceIdentity{
		RawID:       new(h.registrationID),
		Timestamp:   new(uint64(time.Now().Unix())),
		KeyIndex:    new(keyIndex),
		AccountType: waAdv.ADVEncryptionType_E2EE.Enum(),
		DeviceType:  waAdv.ADVEncryptionType_E2EE.Enum(),
	})
	if err != nil {
		return nil, fmt.Errorf("sign device: encode details: %w", err)
	}
	signature := ecc.CalculateSignature(ecc.NewDjbECPrivateKey(*h.identity.Priv),
		slices.Concat(accountPrefix, details, identityPub[:]))
	signed, err := proto.Marshal(&waAdv.ADVSignedDeviceIdentity{
		Details: details, AccountSignatureKey: h.identity.Pub[:], AccountSignature: signature[:],
	})
	if err != nil {
		return nil, fmt.Errorf("sign device: encode identity: %w", err)
	}
	mac := hmac.New(sha256.New, advSecret)
	mac.Write(signed)
	sealed, err := proto.Marshal(&waAdv.ADVSignedDeviceIdentityHMAC{Details: signed, HMAC: mac.Sum(nil)})
	if err != nil {
		return nil, fmt.Errorf("sign device: encode envelope: %w", err)
	}
	return sealed, nil
}

// VerifyDevice checks the companion's pair-device-sign: the unchanged signature of the
// account, and that of the device. Errors are ErrIdentity.
func (h *Handset) VerifyDevice(deviceIdentity []byte, identityPub [32]byte) error {
	var signed waAdv.ADVSignedDeviceIdentity
	if err := proto.Unmarshal(deviceIdentity, &signed); err != nil {
		return fmt.Errorf("verify device: %w: %w", err, ErrIdentity)
	}
	account := slices.Concat(accountPrefix, signed.GetDetails(), identityPub[:])
	if !verified(*h.identity.Pub, account, signed.GetAccountSignature()) {
		return fmt.Errorf("verify device: account signature: %w", ErrIdentity)
	}
	device := slices.Concat(devicePrefix, signed.GetDetails(), identityPub[:], h.identity.Pub[:])
	if !verified(identityPub, device, signed.GetDeviceSignature()) {
		return fmt.Errorf("verify device: device signature: %w", ErrIdentity)
	}
	return nil
}

func verified(pub [32]byte, message, signature []byte) bool {
	return len(signature) == 64 && ecc.VerifySignature(ecc.NewDjbECPublicKey(pub), message, [64]byte(signature))
}
