package event

import (
	"encoding/json"
	"errors"
	"time"
)

// Errors of a pairing that a passkey protects.
var (
	// ErrNoPasskey: nothing was asked for that this could answer.
	ErrNoPasskey = errors.New("the pairing does not wait for this; ask for the challenge first")
	// ErrPasskeyRefused: WhatsApp did not take the authenticator's answer.
	ErrPasskeyRefused = errors.New("WhatsApp refused the passkey")
)

// PasskeyChallenge is what a pairing waits for: an authenticator's signature,
// or somebody who compares a code with the phone's.
type PasskeyChallenge struct {
	ID        string          // tells it from one that followed
	ExpiresAt time.Time       // the end of the pairing
	PublicKey json.RawMessage // WebAuthn's PublicKeyCredentialRequestOptions in JSON
	Code      string          // "ABCD-EFGH", empty until it is to be compared
}

// PasskeyAssertion is an authenticator's answer to a challenge.
type PasskeyAssertion struct {
	For               string // the ID of the challenge; empty: whatever is waited for
	ID                string
	RawID             []byte
	ClientDataJSON    []byte
	AuthenticatorData []byte
	Signature         []byte
	UserHandle        []byte // nil when the authenticator gave none
}
