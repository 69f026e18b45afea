package handset

import (
	"context"
	"errors"
	"fmt"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/libsignal/keys/identity"
	"go.mau.fi/libsignal/protocol"
	"go.mau.fi/libsignal/serialize"
	"go.mau.fi/libsignal/state/record"
	"go.mau.fi/libsignal/state/store"
	"go.mau.fi/whatsmeow/util/keys"
)

// maxPreKeys is how many unused one-time pre-keys are kept; beyond it the oldest are
// removed. A sender with a removed one gets a retry receipt.
const maxPreKeys = 512

// maxPreKeyID is the largest id that fits in the 24 bits of the wire.
const maxPreKeyID = 0xFFFFFF

var errUnused = errors.New("not used by a handset")

// signalStore is the in-memory store of a handset for libsignal. The Handset's mutex is
// held around every call into libsignal.
type signalStore struct {
	handset    *Handset
	nextPreKey uint32
	preKeys    map[uint32][]byte // private keys
	sessions   map[string][]byte // by Signal address; serialised, so a failed step changes nothing
	senderKeys map[string][]byte // by group and Signal address, serialised
}

var _ store.SignalProtocol = (*signalStore)(nil)

func newSignalStore(h *Handset) *signalStore {
	return &signalStore{
		handset: h, nextPreKey: 1,
		preKeys: map[uint32][]byte{}, sessions: map[string][]byte{}, senderKeys: map[string][]byte{},
	}
}

func serializer() *serialize.Serializer { return serialize.NewProtoBufSerializer() }

// decodeSession turns libsignal's panics on malformed records into errors.
func decodeSession(raw []byte) (session *record.Session, err error) {
	defer recoverAs(&err)
	s := serializer()
	return record.NewSessionFromBytes(raw, s.Session, s.State)
}

// recoverAs turns a panic of libsignal, which trusts the structure of its input, into
// an error.
func recoverAs(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("signal library panicked: %v", cause)
	}
}

func (s *signalStore) newPreKey() *keys.PreKey {
	key := keys.NewPreKey(s.nextPreKey)
	s.preKeys[key.KeyID] = key.Priv[:]
	if key.KeyID > maxPreKeys {
		delete(s.preKeys, key.KeyID-maxPreKeys)
	}
	s.nextPreKey = key.KeyID%maxPreKeyID + 1
	return key
}

func (s *signalStore) GetIdentityKeyPair() *identity.KeyPair {
	pair := s.handset.identity
	return identity.NewKeyPair(identity.NewKey(ecc.NewDjbECPublicKey(*pair.Pub)), ecc.NewDjbECPrivateKey(*pair.Priv))
}

func (s *signalStore) GetLocalRegistrationID() uint32 { return s.handset.registrationID }

// SaveIdentity does nothing: a session contains its identity.
func (s *signalStore) SaveIdentity(context.Context, *protocol.SignalAddress, *identity.Key) error {
	return nil
}

// IsTrustedIdentity accepts every identity, like a phone whose user dismisses the
// notice.
func (s *signalStore) IsTrustedIdentity(context.Context, *protocol.SignalAddress, *identity.Key) (bool, error) {
	return true, nil
}

func (s *signalStore) LoadPreKey(_ context.Context, id uint32) (*record.PreKey, error) {
	private, ok := s.preKeys[id]
	if !ok {
		return nil, nil
	}
	pair := keys.NewKeyPairFromPrivateKey([32]byte(private))
	return record.NewPreKey(id, eccPair(pair), nil), nil
}

func (s *signalStore) RemovePreKey(_ context.Context, id uint32) error {
	delete(s.preKeys, id)
	return nil
}

func (s *signalStore) LoadSignedPreKey(_ context.Context, id uint32) (*record.SignedPreKey, error) {
	signed := s.handset.signedPreKey
	if id != signed.KeyID {
		return nil, nil
	}
	return record.NewSignedPreKey(id, 0, eccPair(&signed.KeyPair), *signed.Signature, nil), nil
}

func (s *signalStore) LoadSession(_ context.Context, address *protocol.SignalAddress) (*record.Session, error) {
	raw, ok := s.sessions[address.String()]
	if !ok {
		ser := serializer()
		return record.NewSession(ser.Session, ser.State), nil
	}
	return decodeSession(raw)
}

func (s *signalStore) StoreSession(_ context.Context, address *protocol.SignalAddress, session *record.Session) error {
	s.sessions[address.String()] = session.Serialize()
	return nil
}

func (s *signalStore) ContainsSession(_ context.Context, address *protocol.SignalAddress) (bool, error) {
	_, ok := s.sessions[address.String()]
	return ok, nil
}

func (s *signalStore) DeleteSession(_ context.Context, address *protocol.SignalAddress) error {
	delete(s.sessions, address.String())
	return nil
}

func (s *signalStore) DeleteAllSessions(context.Context) error {
	clear(s.sessions)
	return nil
}

func eccPair(pair *keys.KeyPair) *ecc.ECKeyPair {
	return ecc.NewECKeyPair(ecc.NewDjbECPublicKey(*pair.Pub), ecc.NewDjbECPrivateKey(*pair.Priv))
}

// The rest of the interface is never called.

func (s *signalStore) StorePreKey(context.Context, uint32, *record.PreKey) error { return errUnused }

func (s *signalStore) ContainsPreKey(_ context.Context, id uint32) (bool, error) {
	_, ok := s.preKeys[id]
	return ok, nil
}

func (s *signalStore) GetSubDeviceSessions(context.Context, string) ([]uint32, error) {
	return nil, errUnused
}

func (s *signalStore) LoadSignedPreKeys(context.Context) ([]*record.SignedPreKey, error) {
	return nil, errUnused
}

func (s *signalStore) StoreSignedPreKey(context.Context, uint32, *record.SignedPreKey) error {
	return errUnused
}

func (s *signalStore) ContainsSignedPreKey(_ context.Context, id uint32) (bool, error) {
	return id == signedPreKeyID, nil
}

func (s *signalStore) RemoveSignedPreKey(context.Context, uint32) error { return errUnused }
