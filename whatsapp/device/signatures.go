package device

import (
	"slices"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/util/keys"
)

// Signatures reports which signatures verify: that of the signed pre-key, by the
// identity key; that of the account, by its key, over the identity key; and that of the
// device, by the identity key, over the account's key. NewImage checks the lengths.
func (c Credentials) Signatures() (preKey, account, device bool) {
	identity, signed := keys.NewKeyPairFromPrivateKey([32]byte(c.Identity)), keys.NewKeyPairFromPrivateKey([32]byte(c.SignedPreKey))
	own, phone := ecc.NewDjbECPublicKey(*identity.Pub), ecc.NewDjbECPublicKey([32]byte(c.AccountSignatureKey))
	signs := func(by ecc.ECPublicKeyable, signature []byte, parts ...[]byte) bool {
		return ecc.VerifySignature(by, slices.Concat(parts...), [64]byte(signature))
	}
	preKey = signs(own, c.Signature, []byte{ecc.DjbType}, signed.Pub[:])
	account = signs(phone, c.AccountSignature, whatsmeow.AdvAccountSignaturePrefix, c.Details, identity.Pub[:]) ||
		signs(phone, c.AccountSignature, whatsmeow.AdvHostedAccountSignaturePrefix, c.Details, identity.Pub[:])
	device = signs(own, c.DeviceSignature, whatsmeow.AdvDeviceSignaturePrefix, c.Details, identity.Pub[:], c.AccountSignatureKey) ||
		signs(own, c.DeviceSignature, whatsmeow.AdvHostedDeviceSignaturePrefix, c.Details, identity.Pub[:], c.AccountSignatureKey)
	return preKey, account, device
}
