package sandbox

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// assertion is an authenticator's answer, as WebAuthn's JSON has it.
type assertion struct {
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

// verify checks an assertion as a relying party does.
func (k *passkey) verify(raw, challenge []byte) error {
	var a assertion
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

// assert is what the authenticator of the phone's user answers.
func (k *passkey) assert(challenge string) (assertion, error) {
	client, err := json.Marshal(map[string]any{
		"type": "webauthn.get", "challenge": challenge, "origin": "https://web." + relyingParty, "crossOrigin": false,
	})
	if err != nil {
		return assertion{}, err
	}
	data := binary.BigEndian.AppendUint32(append(sum([]byte(relyingParty)), 0x05), uint32(time.Now().Unix())) // user present and verified
	signed := sha256.Sum256(append(slices.Clone(data), sum(client)...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.key, signed[:])
	if err != nil {
		return assertion{}, err
	}
	encode := base64.RawURLEncoding.EncodeToString
	return assertion{
		ID: encode(k.id), RawID: encode(k.id), Type: "public-key",
		Response: assertionResponse{ClientDataJSON: encode(client), AuthenticatorData: encode(data), Signature: encode(signature)},
	}, nil
}
