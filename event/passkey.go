package event

import (
	"encoding/json"
	"errors"
	"time"
)

// Errors of a pairing that a passkey protects.
var (
	// ErrNoPasskey: nothing was asked for that this could answer.
	ErrNoPasskey = errors.New("the pairing does not wait for this now; passkey in the status of the connection says what it waits for")
	// ErrPasskeyRefused: WhatsApp did not take the authenticator's answer.
	ErrPasskeyRefused = errors.New("WhatsApp refused the passkey")
)

// PasskeyStep is how far a pairing that a passkey protects has come.
type PasskeyStep string

// The steps, in order. A pairing that proves by itself who scanned its code
// leaves out the second.
const (
	PasskeyRequired PasskeyStep = "required" // an authenticator has to sign
	PasskeyCompare  PasskeyStep = "compare"  // a person must compare a code with the phone's
	PasskeyDone     PasskeyStep = "done"     // all was answered; WhatsApp completes the link
)

func (PasskeyStep) values() []string { return list(PasskeyRequired, PasskeyCompare, PasskeyDone) }

// PasskeyState is the state of a passkey request in connection.update and in the status of
// a connection. Without a step it is null: no passkey is asked for.
type PasskeyState struct {
	Step PasskeyStep `json:"step"`
	Code *string     `json:"code" doc:"The code to compare with the phone's; null in the other steps." example:"ABCD-EFGH"`
}

// MarshalJSON implements json.Marshaler.
func (s PasskeyState) MarshalJSON() ([]byte, error) {
	type plain PasskeyState
	if s.Step == "" {
		return []byte("null"), nil
	}
	return Marshal(plain(s))
}

// PasskeyChallenge is the step that a pairing waits for: an authenticator's signature, a
// person who compares a code with the phone's, or WhatsApp.
type PasskeyChallenge struct {
	ID        string    // distinguishes it from later ones
	ExpiresAt time.Time // the end of the pairing, unless another step follows
	Step      PasskeyStep
	PublicKey json.RawMessage // WebAuthn's PublicKeyCredentialRequestOptions in JSON; with PasskeyRequired only
	Code      string          // "ABCD-EFGH"; with PasskeyCompare only
	Answered  bool            // WhatsApp accepted an answer, and no step followed yet
}

// State returns the published state; that of nil is null.
func (c *PasskeyChallenge) State() PasskeyState {
	if c == nil {
		return PasskeyState{}
	}
	s := PasskeyState{Step: c.Step}
	if c.Code != "" {
		s.Code = &c.Code
	}
	return s
}

// Awaits reports whether the challenge waits for a person or an authenticator.
func (c *PasskeyChallenge) Awaits() bool { return c != nil && !c.Answered && c.Step != PasskeyDone }

// PasskeyAssertion is an authenticator's answer to a challenge.
type PasskeyAssertion struct {
	For               string // the ID of the challenge; empty: the current one
	ID                string
	RawID             []byte
	ClientDataJSON    []byte
	AuthenticatorData []byte
	Signature         []byte
	UserHandle        []byte // nil when the authenticator gave none
}
