package network

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/types"
)

// relyingParty is the relying party of the network's passkeys.
const relyingParty = "whatsapp.com"

// Passkey protects an account: linking a device requires its signature. It does not
// survive a restart.
type Passkey struct {
	id      []byte
	key     *ecdsa.PrivateKey
	refuse  bool   // reject every signature
	compare bool   // a link ends with the comparison of a code
	code    string // the code that the phone shows, empty before; the server's mutex guards it
}

// NewPasskey creates a passkey. refuse rejects every signature; compare ignores a first
// signature and requires the comparison of a code after a second one.
func NewPasskey(refuse, compare bool) (*Passkey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a passkey: %w", err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // crypto/rand never fails
	return &Passkey{id: id, key: key, refuse: refuse, compare: compare}, nil
}

// SetPasskey protects an account; nil removes the protection. Errors: ErrClosed,
// phone.ErrNoAccount.
func (s *Server) SetPasskey(of types.JID, key *Passkey) error {
	return s.with(of, func(a *account) { a.passkey = key })
}

// PasskeyOf returns an account's passkey, nil if it has none, and the code that its
// phone shows for comparison, if any. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) PasskeyOf(of types.JID) (key *Passkey, code string, err error) {
	err = s.with(of, func(a *account) {
		if key = a.passkey; key != nil {
			code = key.code
		}
	})
	return key, code, err
}

// Credential is a passkey in the form for virtual authenticators of browsers, for tests
// of pages. Its parts are base64, the key in PKCS #8.
type Credential struct {
	ID         string `json:"credentialId"`
	Party      string `json:"rpId"`
	PrivateKey string `json:"privateKey"`
}

// Credential returns the passkey itself: its holder can sign.
func (k *Passkey) Credential() (Credential, error) {
	key, err := x509.MarshalPKCS8PrivateKey(k.key)
	if err != nil {
		return Credential{}, fmt.Errorf("a passkey's key: %w", err)
	}
	encode := base64.StdEncoding.EncodeToString
	return Credential{ID: encode(k.id), Party: relyingParty, PrivateKey: encode(key)}, nil
}

// Assertion is an authenticator's answer in WebAuthn's JSON.
type Assertion struct {
	ID       string            `json:"id"`
	RawID    string            `json:"rawId"`
	Type     string            `json:"type"`
	Response assertionResponse `json:"response"`
}

type assertionResponse struct {
	ClientDataJSON    string  `json:"clientDataJSON"`
	AuthenticatorData string  `json:"authenticatorData"`
	Signature         string  `json:"signature"`
	UserHandle        *string `json:"userHandle"`
}

var errAssertion = errors.New("the assertion is not the passkey's")

// verify checks an assertion like a relying party.
func (k *Passkey) verify(raw, challenge []byte) error {
	var a Assertion
	if err := json.Unmarshal(raw, &a); err != nil {
		return fmt.Errorf("assertion: %w", err)
	}
	decode := base64.RawURLEncoding.DecodeString
	id, err1 := decode(a.RawID)
	client, err2 := decode(a.Response.ClientDataJSON)
	data, err3 := decode(a.Response.AuthenticatorData)
	signature, err4 := decode(a.Response.Signature)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return fmt.Errorf("assertion: %w", err)
	}
	var said struct{ Type, Challenge string }
	if err := json.Unmarshal(client, &said); err != nil {
		return fmt.Errorf("client data: %w", err)
	}
	party := sha256.Sum256([]byte(relyingParty))
	signed := sha256.Sum256(append(slices.Clone(data), sum(client)...))
	if !bytes.Equal(id, k.id) || said.Type != "webauthn.get" || said.Challenge != base64.RawURLEncoding.EncodeToString(challenge) ||
		!bytes.HasPrefix(data, party[:]) || !ecdsa.VerifyASN1(&k.key.PublicKey, signed[:], signature) {
		return errAssertion
	}
	return nil
}

func sum(raw []byte) []byte {
	s := sha256.Sum256(raw)
	return s[:]
}

// Assert returns the answer of the phone's authenticator to a challenge, in base64url.
func (k *Passkey) Assert(challenge string) (Assertion, error) {
	client, err := json.Marshal(map[string]any{
		"type": "webauthn.get", "challenge": challenge, "origin": "https://web." + relyingParty, "crossOrigin": false,
	})
	if err != nil {
		return Assertion{}, err
	}
	data := binary.BigEndian.AppendUint32(append(sum([]byte(relyingParty)), 0x05), uint32(time.Now().Unix())) // user present and verified
	signed := sha256.Sum256(append(slices.Clone(data), sum(client)...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.key, signed[:])
	if err != nil {
		return Assertion{}, err
	}
	encode := base64.RawURLEncoding.EncodeToString
	return Assertion{
		ID: encode(k.id), RawID: encode(k.id), Type: "public-key",
		Response: assertionResponse{ClientDataJSON: encode(client), AuthenticatorData: encode(data), Signature: encode(signature)},
	}, nil
}
