package handset

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
)

// Sentinel errors.
var (
	ErrNoSession = errors.New("no session with this device")         // Encrypt needs a bundle first
	ErrDuplicate = errors.New("message was already decrypted")       // the same ciphertext again
	ErrState     = errors.New("handset state is damaged")            // Restore
	ErrQR        = errors.New("not a device linking code")           // ParseQR
	ErrCode      = errors.New("link code exchange failed")           // StartCode, CodePairing.Finish
	ErrIdentity  = errors.New("device identity is not acceptable")   // SignDevice, VerifyDevice
	ErrEncType   = errors.New("encryption type is not pkmsg or msg") // Decrypt
)

// signedPreKeyID is the only signed pre-key of a handset, which is never rotated.
const signedPreKeyID = 1

// Handset is one phone's keys and sessions. Its methods may be called from any
// goroutine.
type Handset struct {
	pn, lid        types.JID
	identity       *keys.KeyPair
	signedPreKey   *keys.PreKey
	registrationID uint32

	mu     sync.Mutex // guards what follows, and makes one ratchet step at a time
	signal *signalStore
	latest recent
	reused int
}

// Reused returns how many messages were encrypted with the key of another message, which
// reveals both. A stanza that came twice, as after a lost connection, is not counted.
func (h *Handset) Reused() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reused
}

// duplicate returns the error of a ciphertext whose key is used up, and counts it if it is
// not one of those that were decrypted before.
func (h *Handset) duplicate(ciphertext []byte) error {
	if !h.latest.has(ciphertext) {
		h.reused++
	}
	return ErrDuplicate
}

// recent has the hashes of the ciphertexts that were decrypted last.
type recent struct {
	hashes map[[sha256.Size]byte]struct{}
	order  [][sha256.Size]byte // a ring
	next   int
}

// mostRecent is how many a handset remembers: a sender repeats its last ones.
const mostRecent = 4096

func (r *recent) has(ciphertext []byte) bool {
	_, ok := r.hashes[sha256.Sum256(ciphertext)]
	return ok
}

func (r *recent) add(ciphertext []byte) {
	sum := sha256.Sum256(ciphertext)
	if r.hashes == nil {
		r.hashes = map[[sha256.Size]byte]struct{}{}
	}
	if len(r.order) < mostRecent {
		r.order = append(r.order, sum)
	} else {
		delete(r.hashes, r.order[r.next])
		r.order[r.next] = sum
		r.next = (r.next + 1) % mostRecent
	}
	r.hashes[sum] = struct{}{}
}

// New returns a handset with new keys for an account. Both addresses lose their device
// part: a handset is always device 0.
func New(pn, lid types.JID) (*Handset, error) {
	if pn.User == "" || lid.User == "" {
		return nil, fmt.Errorf("new handset %q: both the phone number and the LID are needed", pn)
	}
	var registration [2]byte
	if _, err := rand.Read(registration[:]); err != nil {
		return nil, fmt.Errorf("new handset %s: %w", pn, err)
	}
	identity := keys.NewKeyPair()
	// Registration ids have 14 bits and are never zero.
	id := uint32(binary.BigEndian.Uint16(registration[:]))%16380 + 1
	return assemble(pn, lid, identity, identity.CreateSignedPreKey(signedPreKeyID), id), nil
}

func assemble(pn, lid types.JID, identity *keys.KeyPair, signed *keys.PreKey, registration uint32) *Handset {
	h := &Handset{
		pn: pn.ToNonAD(), lid: lid.ToNonAD(),
		identity: identity, signedPreKey: signed, registrationID: registration,
	}
	h.signal = newSignalStore(h)
	return h
}

// PN returns the account's phone number address, without a device.
func (h *Handset) PN() types.JID { return h.pn }

// LID returns the account's hidden address, without a device.
func (h *Handset) LID() types.JID { return h.lid }

// IdentityPub returns the account key: the identity that signs every linked device.
func (h *Handset) IdentityPub() [32]byte { return *h.identity.Pub }

// RegistrationID returns the Signal registration id.
func (h *Handset) RegistrationID() uint32 { return h.registrationID }

// savedState is the content of State. Private keys are 32 bytes; public keys follow
// from them.
type savedState struct {
	Version      int               `json:"version"`
	PN           types.JID         `json:"pn"`
	LID          types.JID         `json:"lid"`
	Identity     []byte            `json:"identity"`
	SignedPreKey []byte            `json:"signed_pre_key"`
	Registration uint32            `json:"registration_id"`
	NextPreKey   uint32            `json:"next_pre_key"`
	PreKeys      map[uint32][]byte `json:"pre_keys,omitempty"`
	Sessions     map[string][]byte `json:"sessions,omitempty"`
	SenderKeys   map[string][]byte `json:"sender_keys,omitempty"`
}

const stateVersion = 1

// State returns everything that must survive a restart, including sessions and private
// keys.
func (h *Handset) State() ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	state, err := json.Marshal(savedState{
		Version: stateVersion, PN: h.pn, LID: h.lid,
		Identity: h.identity.Priv[:], SignedPreKey: h.signedPreKey.Priv[:],
		Registration: h.registrationID, NextPreKey: h.signal.nextPreKey,
		PreKeys: h.signal.preKeys, Sessions: h.signal.sessions, SenderKeys: h.signal.senderKeys,
	})
	if err != nil {
		return nil, fmt.Errorf("encode state of handset %s: %w", h.pn, err)
	}
	return state, nil
}

// Restore returns the handset of a State. The error is ErrState and names the invalid
// part.
func Restore(state []byte) (*Handset, error) {
	var saved savedState
	if err := json.Unmarshal(state, &saved); err != nil {
		return nil, fmt.Errorf("restore handset: %w: %w", err, ErrState)
	}
	if err := saved.check(); err != nil {
		return nil, fmt.Errorf("restore handset %q: %w: %w", saved.PN, err, ErrState)
	}
	identity := keys.NewKeyPairFromPrivateKey([32]byte(saved.Identity))
	signed := &keys.PreKey{KeyPair: *keys.NewKeyPairFromPrivateKey([32]byte(saved.SignedPreKey)), KeyID: signedPreKeyID}
	signed.Signature = identity.Sign(&signed.KeyPair)
	h := assemble(saved.PN, saved.LID, identity, signed, saved.Registration)
	h.signal.nextPreKey = saved.NextPreKey
	maps.Copy(h.signal.preKeys, saved.PreKeys)
	maps.Copy(h.signal.sessions, saved.Sessions)
	maps.Copy(h.signal.senderKeys, saved.SenderKeys)
	return h, nil
}

func (s *savedState) check() error {
	switch {
	case s.Version != stateVersion:
		return fmt.Errorf("version %d, want %d", s.Version, stateVersion)
	case s.PN.User == "" || s.LID.User == "":
		return errors.New("an address is missing")
	case len(s.Identity) != 32:
		return fmt.Errorf("identity key has %d bytes", len(s.Identity))
	case len(s.SignedPreKey) != 32:
		return fmt.Errorf("signed pre-key has %d bytes", len(s.SignedPreKey))
	case s.NextPreKey == 0 || s.NextPreKey > maxPreKeyID:
		return errors.New("pre-key counter is out of range")
	}
	for id, key := range s.PreKeys {
		if len(key) != 32 {
			return fmt.Errorf("pre-key %d has %d bytes", id, len(key))
		}
	}
	for address, raw := range s.Sessions {
		if _, err := decodeSession(raw); err != nil {
			return fmt.Errorf("session %q: %w", address, err)
		}
	}
	for name, raw := range s.SenderKeys {
		if _, err := decodeSenderKey(raw); err != nil {
			return fmt.Errorf("sender key %q: %w", name, err)
		}
	}
	return nil
}
