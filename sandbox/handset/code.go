package handset

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"go.mau.fi/whatsmeow/util/keys"
)

const (
	codeLength     = 8
	codeAlphabet   = "123456789ABCDEFGHJKLMNPQRSTVWXYZ"
	codeIterations = 2 << 16       // of PBKDF2, as in every client
	wrappedLength  = 32 + 16 + 32  // salt, IV, public key
	sealedLength   = 32 + 12 + 112 // salt, nonce, three keys and the GCM tag
)

// NormaliseCode removes the dash from a typed link code and converts it to capitals.
// The error is ErrCode if it is not 8 characters of the code's alphabet.
func NormaliseCode(typed string) (string, error) {
	code := strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(typed), "-", ""))
	if len(code) != codeLength || strings.Trim(code, codeAlphabet) != "" {
		return "", fmt.Errorf("link code must have %d characters: %w", codeLength, ErrCode)
	}
	return code, nil
}

// CodePairing is one exchange by link code, on the phone's side. It is used once, and
// not concurrently.
type CodePairing struct {
	handset   *Handset
	ephemeral *keys.KeyPair
	companion []byte // its ephemeral public key; wrong if the code was mistyped
	wrapped   []byte
}

// StartCode begins the exchange with the typed code and the wrapped ephemeral key of
// companion_hello. A mistyped code is detected only in Finish, because the wrapping has
// no check.
func (h *Handset) StartCode(typed string, companionHello []byte) (*CodePairing, error) {
	code, err := NormaliseCode(typed)
	if err != nil {
		return nil, err
	}
	if len(companionHello) != wrappedLength {
		return nil, fmt.Errorf("companion hello has %d bytes, want %d: %w", len(companionHello), wrappedLength, ErrCode)
	}
	p := &CodePairing{handset: h, ephemeral: keys.NewKeyPair(), companion: make([]byte, 32)}
	if err := codeXOR(code, companionHello, p.companion, companionHello[48:]); err != nil {
		return nil, err
	}
	p.wrapped = make([]byte, wrappedLength)
	if _, err := rand.Read(p.wrapped[:48]); err != nil {
		return nil, fmt.Errorf("primary hello: %w", err)
	}
	if err := codeXOR(code, p.wrapped, p.wrapped[48:], p.ephemeral.Pub[:]); err != nil {
		return nil, err
	}
	return p, nil
}

// codeXOR applies the code's key stream to 32 bytes; header begins with the salt and
// the IV.
func codeXOR(code string, header, dst, src []byte) error {
	key, err := pbkdf2.Key(sha256.New, code, header[:32], codeIterations, 32)
	if err != nil {
		return fmt.Errorf("link code key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return fmt.Errorf("link code cipher: %w", err)
	}
	cipher.NewCTR(block, header[32:48]).XORKeyStream(dst, src)
	return nil
}

// WrappedEphemeral returns primary_hello's
// link_code_pairing_wrapped_primary_ephemeral_pub.
func (p *CodePairing) WrappedEphemeral() []byte { return slices.Clone(p.wrapped) }

// Finish decrypts companion_finish's key bundle and derives the secret for SignDevice.
// The error is ErrCode if the code was wrong or the bundle belongs to another phone.
func (p *CodePairing) Finish(sealed []byte) (companionIdentity [32]byte, advSecret []byte, err error) {
	if len(sealed) != sealedLength {
		return companionIdentity, nil, fmt.Errorf("key bundle has %d bytes, want %d: %w", len(sealed), sealedLength, ErrCode)
	}
	shared, err := exchange(p.ephemeral, p.companion)
	if err != nil {
		return companionIdentity, nil, fmt.Errorf("companion ephemeral: %w: %w", err, ErrCode)
	}
	bundle, err := openBundle(shared, sealed)
	if err != nil {
		return companionIdentity, nil, fmt.Errorf("key bundle: %w: %w", err, ErrCode)
	}
	if [32]byte(bundle[32:64]) != *p.handset.identity.Pub {
		return companionIdentity, nil, fmt.Errorf("key bundle names another phone: %w", ErrCode)
	}
	identityShared, err := exchange(p.handset.identity, bundle[:32])
	if err != nil {
		return companionIdentity, nil, fmt.Errorf("companion identity: %w: %w", err, ErrCode)
	}
	advSecret, err = hkdf.Key(sha256.New, slices.Concat(shared, identityShared, bundle[64:]), nil, "adv_secret", 32)
	if err != nil {
		return companionIdentity, nil, fmt.Errorf("derive ADV secret: %w", err)
	}
	return [32]byte(bundle[:32]), advSecret, nil
}

func openBundle(shared, sealed []byte) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, shared, sealed[:32], "link_code_pairing_key_bundle_encryption_key", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return gcm.Open(nil, sealed[32:44], sealed[44:], nil)
}

func exchange(own *keys.KeyPair, peer []byte) ([]byte, error) {
	private, err := ecdh.X25519().NewPrivateKey(own.Priv[:])
	if err != nil {
		return nil, err
	}
	public, err := ecdh.X25519().NewPublicKey(peer)
	if err != nil {
		return nil, err
	}
	return private.ECDH(public)
}
