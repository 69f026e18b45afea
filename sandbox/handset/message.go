package handset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/libsignal/keys/identity"
	"go.mau.fi/libsignal/keys/prekey"
	"go.mau.fi/libsignal/protocol"
	"go.mau.fi/libsignal/session"
	"go.mau.fi/libsignal/signalerror"
	"go.mau.fi/libsignal/util/optional"
	"go.mau.fi/whatsmeow/types"
)

// Encryption types of an <enc> node.
const (
	EncPreKey  = "pkmsg" // the first messages of a session, with the X3DH keys
	EncMessage = "msg"
)

// PreKey is one public pre-key.
type PreKey struct {
	ID  uint32
	Pub [32]byte
}

// Bundle is what a sender needs to start a session with a device.
type Bundle struct {
	RegistrationID  uint32
	Identity        [32]byte
	SignedPreKey    PreKey
	SignedSignature [64]byte
	OneTime         *PreKey // nil: none left
}

// Bundle returns the handset's public keys with an unused one-time pre-key. It changes
// the state.
func (h *Handset) Bundle() (Bundle, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	oneTime := h.signal.newPreKey()
	return Bundle{
		RegistrationID:  h.registrationID,
		Identity:        *h.identity.Pub,
		SignedPreKey:    PreKey{ID: h.signedPreKey.KeyID, Pub: *h.signedPreKey.Pub},
		SignedSignature: *h.signedPreKey.Signature,
		OneTime:         &PreKey{ID: oneTime.KeyID, Pub: *oneTime.Pub},
	}, nil
}

func (b *Bundle) signal(device uint16) *prekey.Bundle {
	id := optional.NewEmptyUint32()
	var oneTime ecc.ECPublicKeyable
	if b.OneTime != nil {
		id, oneTime = optional.NewOptionalUint32(b.OneTime.ID), ecc.NewDjbECPublicKey(b.OneTime.Pub)
	}
	return prekey.NewBundle(b.RegistrationID, uint32(device), id, b.SignedPreKey.ID, oneTime,
		ecc.NewDjbECPublicKey(b.SignedPreKey.Pub), b.SignedSignature,
		identity.NewKey(ecc.NewDjbECPublicKey(b.Identity)))
}

// HasSession reports whether Encrypt needs no bundle for a device.
func (h *Handset) HasSession(device types.JID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.signal.sessions[device.SignalAddress().String()]
	return ok
}

// DropSession deletes the session with a device, so that the next Encrypt needs a
// bundle.
func (h *Handset) DropSession(device types.JID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.signal.sessions, device.SignalAddress().String())
}

// Encrypt pads and encrypts a marshalled message for one device. A bundle that is not nil
// starts a new session; without a bundle and without a session the error is ErrNoSession.
func (h *Handset) Encrypt(device types.JID, bundle *Bundle, plaintext []byte) (encType string, ciphertext []byte, err error) {
	return h.EncryptBare(device, bundle, pad(plaintext))
}

// EncryptBare is Encrypt without the padding, which version 3 of the message format does
// not have.
func (h *Handset) EncryptBare(device types.JID, bundle *Bundle, plaintext []byte) (encType string, ciphertext []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer recoverAs(&err)
	address := device.SignalAddress()
	builder := session.NewBuilderFromSignal(h.signal, address, serializer())
	ctx := context.Background()
	if bundle != nil {
		if err := builder.ProcessBundle(ctx, bundle.signal(device.Device)); err != nil {
			return "", nil, fmt.Errorf("start session with %s: %w", device, err)
		}
	} else if _, ok := h.signal.sessions[address.String()]; !ok {
		return "", nil, fmt.Errorf("encrypt for %s: %w", device, ErrNoSession)
	}
	message, err := session.NewCipher(builder, address).Encrypt(ctx, plaintext)
	if err != nil {
		return "", nil, fmt.Errorf("encrypt for %s: %w", device, err)
	}
	if message.Type() == protocol.PREKEY_TYPE {
		return EncPreKey, message.Serialize(), nil
	}
	return EncMessage, message.Serialize(), nil
}

// Decrypt decrypts one <enc> of a device and removes the padding. A ciphertext that
// fails leaves the session unchanged. ErrDuplicate means that it was decrypted before;
// a real phone answers any other error with a retry receipt.
func (h *Handset) Decrypt(from types.JID, encType string, ciphertext []byte) (plaintext []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	padded, err := h.open(from, encType, ciphertext)
	if errors.Is(err, signalerror.ErrOldCounter) {
		return nil, fmt.Errorf("decrypt %s from %s: %w", encType, from, h.duplicate(ciphertext))
	}
	if err == nil {
		h.latest.add(ciphertext)
		plaintext, err = unpad(padded)
	}
	if err != nil {
		return nil, fmt.Errorf("decrypt %s from %s: %w", encType, from, err)
	}
	return plaintext, nil
}

func (h *Handset) open(from types.JID, encType string, ciphertext []byte) (padded []byte, err error) {
	defer recoverAs(&err)
	s, address := serializer(), from.SignalAddress()
	cipher := session.NewCipher(session.NewBuilderFromSignal(h.signal, address, s), address)
	switch encType {
	case EncPreKey:
		message, err := protocol.NewPreKeySignalMessageFromBytes(ciphertext, s.PreKeySignalMessage, s.SignalMessage)
		if err != nil {
			return nil, err
		}
		return cipher.DecryptMessage(context.Background(), message)
	case EncMessage:
		message, err := protocol.NewSignalMessageFromBytes(ciphertext, s.SignalMessage)
		if err != nil {
			return nil, err
		}
		return cipher.Decrypt(context.Background(), message)
	default:
		return nil, ErrEncType
	}
}

// pad appends 1 to 15 bytes with their number as value (version 2 of the message
// format).
func pad(plaintext []byte) []byte {
	n := 1 + rand.IntN(15)
	return append(bytes.Clone(plaintext), bytes.Repeat([]byte{byte(n)}, n)...)
}

func unpad(padded []byte) ([]byte, error) {
	if len(padded) == 0 {
		return nil, errors.New("plaintext is empty")
	}
	n := int(padded[len(padded)-1])
	if n == 0 || n > len(padded) {
		return nil, fmt.Errorf("padding of %d in %d bytes", n, len(padded))
	}
	return padded[:len(padded)-n], nil
}
