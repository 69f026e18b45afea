package handset

import (
	"context"
	"errors"
	"fmt"

	"go.mau.fi/libsignal/groups"
	grouprecord "go.mau.fi/libsignal/groups/state/record"
	"go.mau.fi/libsignal/protocol"
	"go.mau.fi/libsignal/signalerror"
	"go.mau.fi/whatsmeow/types"
)

// EncSenderKey is the encryption type of an <enc> node that all devices of a group
// decrypt with the sender's key.
const EncSenderKey = "skmsg"

// senderKeyName identifies the key of a sender in a group, for the handset's own key
// and those of others.
func senderKeyName(group, device types.JID) *protocol.SenderKeyName {
	return protocol.NewSenderKeyName(group.String(), device.SignalAddress())
}

// SenderKey returns the distribution message of the handset's own key for a group,
// creating the key if needed. Its recipients can decrypt later results of EncryptGroup,
// but no earlier ones. It changes the state.
func (h *Handset) SenderKey(group types.JID) (distribution []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer recoverAs(&err)
	builder := groups.NewGroupSessionBuilder(h.signal, serializer())
	message, err := builder.Create(context.Background(), senderKeyName(group, h.lid))
	if err != nil {
		return nil, fmt.Errorf("sender key for %s: %w", group, err)
	}
	return message.Serialize(), nil
}

// AcceptSenderKey stores the key that a device distributed for a group. It changes the
// state, unless the distribution message is malformed.
func (h *Handset) AcceptSenderKey(group, from types.JID, distribution []byte) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer recoverAs(&err)
	s := serializer()
	message, err := protocol.NewSenderKeyDistributionMessageFromBytes(distribution, s.SenderKeyDistributionMessage)
	if err == nil {
		err = groups.NewGroupSessionBuilder(h.signal, s).Process(context.Background(), senderKeyName(group, from), message)
	}
	if err != nil {
		return fmt.Errorf("accept the sender key of %s for %s: %w", from, group, err)
	}
	return nil
}

// EncryptGroup pads a marshalled message and encrypts it for all holders of the
// handset's SenderKey. It changes the state.
func (h *Handset) EncryptGroup(group types.JID, plaintext []byte) (ciphertext []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer recoverAs(&err)
	message, err := h.groupCipher(group, h.lid).Encrypt(context.Background(), pad(plaintext))
	if err != nil {
		return nil, fmt.Errorf("encrypt for %s: %w", group, err)
	}
	return message.SignedSerialize(), nil
}

// DecryptGroup decrypts a message that a device encrypted for a group and removes the
// padding. ErrDuplicate means that it was decrypted before, or is older than the
// distributed key; a real phone answers any other error with a retry receipt.
func (h *Handset) DecryptGroup(group, from types.JID, ciphertext []byte) (plaintext []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	padded, err := h.openGroup(group, from, ciphertext)
	if errors.Is(err, signalerror.ErrOldCounter) {
		err = h.duplicate(ciphertext)
	}
	if err == nil {
		h.latest.add(ciphertext)
		plaintext, err = unpad(padded)
	}
	if err != nil {
		return nil, fmt.Errorf("decrypt a message of %s in %s: %w", from, group, err)
	}
	return plaintext, nil
}

func (h *Handset) openGroup(group, from types.JID, ciphertext []byte) (padded []byte, err error) {
	defer recoverAs(&err)
	message, err := protocol.NewSenderKeyMessageFromBytes(ciphertext, serializer().SenderKeyMessage)
	if err != nil {
		return nil, err
	}
	return h.groupCipher(group, from).Decrypt(context.Background(), message)
}

func (h *Handset) groupCipher(group, device types.JID) *groups.GroupCipher {
	return groups.NewGroupCipher(groups.NewGroupSessionBuilder(h.signal, serializer()), senderKeyName(group, device), h.signal)
}

func senderKeyID(name *protocol.SenderKeyName) string {
	return name.GroupID() + " " + name.Sender().String()
}

// StoreSenderKey implements libsignal's store.
func (s *signalStore) StoreSenderKey(_ context.Context, name *protocol.SenderKeyName, key *grouprecord.SenderKey) error {
	s.senderKeys[senderKeyID(name)] = key.Serialize()
	return nil
}

// LoadSenderKey implements libsignal's store: an empty record means none.
func (s *signalStore) LoadSenderKey(_ context.Context, name *protocol.SenderKeyName) (*grouprecord.SenderKey, error) {
	raw, ok := s.senderKeys[senderKeyID(name)]
	if !ok {
		ser := serializer()
		return grouprecord.NewSenderKey(ser.SenderKeyRecord, ser.SenderKeyState), nil
	}
	return decodeSenderKey(raw)
}

// decodeSenderKey turns libsignal's panics on malformed records into errors.
func decodeSenderKey(raw []byte) (key *grouprecord.SenderKey, err error) {
	defer recoverAs(&err)
	s := serializer()
	return grouprecord.NewSenderKeyFromBytes(raw, s.SenderKeyRecord, s.SenderKeyState)
}
