package instances

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
)

// CodeInvalidAssertion says that the answer of the passkey cannot be read.
const CodeInvalidAssertion = "INVALID_ASSERTION"

// ChallengeAnswer is what a pairing waits for: a signature for PublicKey, or a user's confirmation that Code
// matches the phone's. The other field is null.
type ChallengeAnswer struct {
	InstanceName     string          `json:"instanceName"`
	ConnectionStatus StateInCapitals `json:"connectionStatus" doc:"The state of the connection, in capitals." example:"ONLINE"`
	RequestID        string          `json:"requestId" doc:"The id of the current step; the next step has another one." example:"$uuid"`
	State            string          `json:"state"` // AWAITING_ASSERTION or AWAITING_CONFIRMATION
	Message          string          `json:"message" doc:"What to do next, for people." example:"sign publicKey with the account's passkey and post the assertion"`
	ExpiresAt        *event.Time     `json:"expiresAt" doc:"When the pairing ends."`
	PublicKey        json.RawMessage `json:"publicKey"`
	Code             *string         `json:"code" doc:"The code to compare with the phone's; null when a signature is needed." example:"ABCD-EFGH"`
}

// assertionRequest is an authenticator's answer in the JSON of browsers or, from older clients, in Assertion
// with the id of the challenge.
type assertionRequest struct {
	RequestID string      `json:"requestId" doc:"The requestId of the challenge; 409 when it is not the current one." example:"$uuid"`
	Assertion *credential `json:"assertion" doc:"The authenticator's answer, instead of its fields here."`

	ID                     string             `json:"id"`
	RawID                  string             `json:"rawId"`
	Type                   string             `json:"type" doc:"What it is." example:"public-key" rules:"enum=public-key"`
	Response               *assertionResponse `json:"response" doc:"What the authenticator answered."`
	Attachment             string             `json:"authenticatorAttachment" doc:"Where the authenticator is; not used." example:"platform"`
	ClientExtensionResults *strict.Object     `json:"clientExtensionResults"`
}

// credential is an authenticator's answer. Its data about the authenticator itself is accepted and ignored.
type credential struct {
	ID                     string            `json:"id" strict:"required"`
	RawID                  string            `json:"rawId" strict:"required"`
	Type                   string            `json:"type" strict:"required" doc:"What it is." example:"public-key" rules:"enum=public-key"`
	Response               assertionResponse `json:"response" strict:"required" doc:"What the authenticator answered."`
	Attachment             string            `json:"authenticatorAttachment" doc:"Where the authenticator is; not used." example:"platform"`
	ClientExtensionResults *strict.Object    `json:"clientExtensionResults"`
}

// credential returns the answer from either form.
func (in *assertionRequest) credential() (*credential, error) {
	flat := in.ID != "" || in.RawID != "" || in.Type != "" || in.Response != nil
	switch {
	case in.Assertion != nil && flat:
		return nil, &strict.Error{Code: rest.CodeDuplicateField, Path: "assertion", Text: "must not stand beside its own fields"}
	case in.Assertion != nil:
		return in.Assertion, nil
	case in.Response == nil:
		return nil, strict.Missing("response", "is required, or assertion instead")
	}
	return &credential{ID: in.ID, RawID: in.RawID, Type: in.Type, Response: *in.Response}, nil
}

type assertionResponse struct {
	ClientDataJSON    string  `json:"clientDataJSON" strict:"required"`
	AuthenticatorData string  `json:"authenticatorData" strict:"required"`
	Signature         string  `json:"signature" strict:"required"`
	UserHandle        *string `json:"userHandle"`
}

type passkeyAnswer struct {
	InstanceName     string          `json:"instanceName"`
	ConnectionStatus StateInCapitals `json:"connectionStatus" doc:"The state of the connection, in capitals." example:"ONLINE"`
	Message          string          `json:"message" doc:"What happened, for people." example:"the passkey was accepted; the pairing continues"`
}

// What a pairing with a passkey waits for.
const (
	awaitsAssertion    = "AWAITING_ASSERTION"
	awaitsConfirmation = "AWAITING_CONFIRMATION"
)

// passkeyChallenge waits until the pairing requests a passkey.
func (a *API) passkeyChallenge(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	waits, err := a.Supervisor.Passkey(c.Request.Context(), c.Instance.ID, c.RequestID)
	if err != nil {
		return err
	}
	rec, err := a.Registry.ByID(c.Instance.ID)
	if err != nil {
		return err
	}
	answer := ChallengeAnswer{
		InstanceName: rec.Name, ConnectionStatus: upper(rec.Status), RequestID: waits.ID, State: awaitsAssertion,
		Message:   "sign publicKey with the account's passkey and post the assertion",
		ExpiresAt: event.AtPtr(waits.ExpiresAt), PublicKey: waits.PublicKey, Code: event.OrNull(waits.Code),
	}
	if answer.PublicKey == nil {
		answer.State, answer.PublicKey = awaitsConfirmation, json.RawMessage("null")
		answer.Message = "compare code with the one on the phone and confirm it"
	}
	return c.Response.JSON(http.StatusOK, answer)
}

func (a *API) passkeyAssertion(c *rest.Call) error {
	var in assertionRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	given, err := in.credential()
	if err != nil {
		return err
	}
	assertion, err := given.assertion()
	if err != nil {
		return err
	}
	assertion.For = in.RequestID
	if err := a.Supervisor.AssertPasskey(c.Request.Context(), c.Instance.ID, assertion); err != nil {
		return err
	}
	return a.passkeyAccepted(c, "the passkey was accepted; the pairing continues")
}

// confirmPasskey confirms that the challenge's code matches the phone's.
func (a *API) confirmPasskey(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	if err := a.Supervisor.ConfirmPasskey(c.Request.Context(), c.Instance.ID); err != nil {
		return err
	}
	return a.passkeyAccepted(c, "the code was confirmed; the pairing goes on")
}

func (a *API) passkeyAccepted(c *rest.Call, message string) error {
	rec, err := a.Registry.ByID(c.Instance.ID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusAccepted, passkeyAnswer{rec.Name, upper(rec.Status), message})
}

// MaxAssertionPart bounds each part of an assertion, in characters. WebAuthn allows credential ids of 1023
// bytes and sets no other bound; parts made by authenticators are below 1 KiB.
const MaxAssertionPart = 16 << 10

// assertion decodes the parts; the error names all faults.
func (in *credential) assertion() (event.PasskeyAssertion, error) {
	out := event.PasskeyAssertion{ID: in.ID}
	var faults []string
	decode := func(field, text string, into *[]byte) {
		if len(text) > MaxAssertionPart {
			faults = append(faults, fmt.Sprintf("%s has more than %d characters", field, MaxAssertionPart))
			return
		}
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || len(raw) == 0 {
			faults = append(faults, field+" must be base64url without padding, and not empty")
		}
		*into = raw
	}
	if in.Type != "public-key" {
		faults = append(faults, `type must be "public-key"`)
	}
	if in.ID == "" || len(in.ID) > MaxAssertionPart {
		faults = append(faults, fmt.Sprintf("id must have 1 to %d characters", MaxAssertionPart))
	}
	decode("rawId", in.RawID, &out.RawID)
	decode("response.clientDataJSON", in.Response.ClientDataJSON, &out.ClientDataJSON)
	decode("response.authenticatorData", in.Response.AuthenticatorData, &out.AuthenticatorData)
	decode("response.signature", in.Response.Signature, &out.Signature)
	if in.Response.UserHandle != nil {
		decode("response.userHandle", *in.Response.UserHandle, &out.UserHandle)
	}
	if len(faults) > 0 {
		return out, rest.Refuse(http.StatusUnprocessableEntity, CodeInvalidAssertion, faults...)
	}
	return out, nil
}
