package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postern/event"
	"postern/httpapi/instances"
)

const (
	challengePath = "/instance/a/connect/passkey/challenge"
	assertionPath = "/instance/a/connect/passkey/assertion"
	confirmPath   = "/instance/a/connect/passkey/confirm"

	signedAnswer = `{"id":"AQI","rawId":"AQI","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AA","signature":"AQ"}}`
)

func TestPasskeyChallengeIsThePairings(t *testing.T) {
	for _, path := range []string{challengePath, "/instance/connect/a/passkey/challenge"} {
		r := newRig(t)
		token := r.instance("a")
		r.line.passkey = &event.PasskeyChallenge{Step: event.PasskeyRequired, ID: "c-1", ExpiresAt: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), PublicKey: json.RawMessage(`{"challenge":"AQI"}`)}
		got := decoded[map[string]json.RawMessage](t, r.as(token, "POST", path, ""))
		want := map[string]json.RawMessage{
			"requestId": json.RawMessage(`"c-1"`), "state": json.RawMessage(`"AWAITING_ASSERTION"`), "message": json.RawMessage(`"sign publicKey with the account's passkey and post the assertion"`), "expiresAt": json.RawMessage(`"2100-01-01T00:00:00.000Z"`),
			"instanceName": json.RawMessage(`"a"`), "connectionStatus": got["connectionStatus"], // it connects meanwhile
			"publicKey": json.RawMessage(`{"challenge":"AQI"}`), "code": json.RawMessage("null"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestUnrequestedChallengeIs408AndLinkedIs409(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	wantError(t, r.as(token, "POST", challengePath, ""), 408, "CONNECT_TIMEOUT")
	wantError(t, r.as(token, "POST", assertionPath, signedAnswer), 409, "PASSKEY_NOT_EXPECTED")
	wantError(t, r.as(token, "POST", confirmPath, ""), 409, "PASSKEY_NOT_EXPECTED")
	r.line.paired.Store(true)
	wantError(t, r.as(token, "POST", challengePath, ""), 409, "ALREADY_CONNECTED")
}

func TestAnAssertionIsDecodedAndHandedOn(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.line.passkey = &event.PasskeyChallenge{PublicKey: json.RawMessage(`{}`)}
	full := strings.TrimSuffix(signedAnswer, "}}") + `,"userHandle":"Ag"},"authenticatorAttachment":null,"clientExtensionResults":{"x":1}}`
	for _, path := range []string{assertionPath, "/instance/connect/a/passkey/assertion"} {
		res := r.as(token, "POST", path, full)
		if res.StatusCode != 202 {
			t.Fatal(res.Status)
		}
		want := &event.PasskeyAssertion{
			ID: "AQI", RawID: []byte{1, 2}, ClientDataJSON: []byte("{}"), AuthenticatorData: []byte{0}, Signature: []byte{1}, UserHandle: []byte{2},
		}
		if diff := cmp.Diff(want, r.line.asserted); diff != "" {
			t.Error(diff)
		}
	}
}

// TestAnAssertionMayNameItsChallenge, as older clients send it.
func TestAnAssertionMayNameItsChallenge(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.line.passkey = &event.PasskeyChallenge{ID: "c-1", PublicKey: json.RawMessage(`{}`)}
	if res := r.as(token, "POST", assertionPath, `{"requestId":"c-1","assertion":`+signedAnswer+`}`); res.StatusCode != 202 {
		t.Fatal(res.Status)
	}
	if got := r.line.asserted; got == nil || got.For != "c-1" || got.ID != "AQI" {
		t.Errorf("%+v", got)
	}
	wantError(t, r.as(token, "POST", assertionPath, `{"requestId":"c-1"}`), 400, "MISSING_FIELD")
	both := strings.Replace(signedAnswer, "{", `{"assertion":`+signedAnswer+`,`, 1)
	wantError(t, r.as(token, "POST", assertionPath, both), 400, "DUPLICATE_FIELD")
}

func TestAMalformedAssertionNamesEachFault(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.line.passkey = &event.PasskeyChallenge{PublicKey: json.RawMessage(`{}`)}
	bad := `{"id":"","rawId":"AQI=","type":"x","response":{"clientDataJSON":"","authenticatorData":"!","signature":"a/b","userHandle":""}}`
	b := wantError(t, r.as(token, "POST", assertionPath, bad), 422, "INVALID_ASSERTION")
	if len(b.Messages) != 7 {
		t.Errorf("%q", b.Messages)
	}
	long := strings.Repeat("A", instances.MaxAssertionPart+4)
	b = wantError(t, r.as(token, "POST", assertionPath, strings.ReplaceAll(signedAnswer, "AQI", long)), 422, "INVALID_ASSERTION")
	if len(b.Messages) != 2 {
		t.Errorf("too long: %q", b.Messages)
	}
	wantError(t, r.as(token, "POST", assertionPath, `{}`), 400, "MISSING_FIELD")
	wantError(t, r.as(token, "POST", assertionPath, strings.Replace(signedAnswer, "signature", "sig", 1)), 400, "UNKNOWN_FIELD")
	if r.line.asserted != nil {
		t.Error("a malformed assertion was handed on")
	}
}

func TestACodeToCompareIsConfirmed(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.line.passkey = &event.PasskeyChallenge{Step: event.PasskeyCompare, Code: "ABCD-EFGH"}
	got := decoded[instances.ChallengeAnswer](t, r.as(token, "POST", challengePath, ""))
	if got.Code == nil || *got.Code != "ABCD-EFGH" || string(got.PublicKey) != "null" || got.State != "AWAITING_CONFIRMATION" || got.Message == "" {
		t.Errorf("%+v", got)
	}
	if res := r.as(token, "POST", confirmPath, ""); res.StatusCode != 202 {
		t.Error(res.Status)
	}
	wantError(t, r.as(token, "POST", confirmPath, ""), 409, "PASSKEY_NOT_EXPECTED")
}

// TestQRCodeWithoutCodeSaysWhatIsAwaited: no phone is linked yet, so ALREADY_CONNECTED would be wrong.
func TestQRCodeWithoutCodeSaysWhatIsAwaited(t *testing.T) {
	r, token := unpaired(t)
	r.needsSignature(`{"challenge":"AQIDBA"}`)
	r.fact(event.Fact{Status: event.Pairing})
	connect := decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect", ""))
	if connect.Code != nil || connect.Base64 != nil || connect.Count != 0 || connect.AlreadyConnected {
		t.Errorf("connect: %+v", connect)
	}
	b := wantError(t, r.as(token, "GET", "/instance/a/qr.png", ""), 409, "NO_QR_CODE")
	if !strings.Contains(b.Messages[0], "passkey") {
		t.Errorf("%q does not say that a passkey is waited for", b.Messages)
	}

	r = newRig(t)
	token = r.instance("a")
	decoded[instances.PairingCode](t, r.as(token, "GET", "/instance/a/connect/code/4915112345678", ""))
	r.fact(event.Fact{Status: event.PairingCodeState})
	b = wantError(t, r.as(token, "GET", "/instance/a/qr.png", ""), 409, "NO_QR_CODE")
	if !strings.Contains(b.Messages[0], "typed") {
		t.Errorf("%q does not say that a code is to be typed", b.Messages)
	}
}
