package whatsapp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/sandbox"
)

// ask makes a phone of the rig's network do something, and returns the answer.
func (r *rig) ask(p *sandbox.Phone, body string) []byte {
	r.t.Helper()
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, "/sandbox/phones/"+p.Number()+"/act", bytes.NewReader([]byte(body)))
	r.net.Control().ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		r.t.Fatalf("%s: %d %s", body, rec.Code, rec.Body)
	}
	return rec.Body.Bytes()
}

// challenged scans with a phone whose account a passkey protects, and returns
// the challenge that reaches the session.
func (r *rig) challenged(act string) (phone *sandbox.Phone, challenge string) {
	r.t.Helper()
	phone = r.contact()
	r.ask(phone, act)
	r.connect()
	code := r.state(event.QRCodeState).Data.(event.QRCode).Code
	if err := phone.Scan(r.t.Context(), code); err != nil {
		r.t.Fatal(err)
	}
	r.state(event.Pairing)
	return phone, challengeOf(r.t, r.session)
}

// challengeOf returns the challenge that the session waits for.
func challengeOf(t testing.TB, s *Session) string {
	t.Helper()
	waits := s.Passkey()
	if !waits.Awaits() || waits.Step != event.PasskeyRequired || waits.Code != "" {
		t.Fatalf("the session waits for %+v", waits)
	}
	var options struct{ Challenge, RPID string }
	if err := json.Unmarshal(waits.PublicKey, &options); err != nil || options.Challenge == "" || options.RPID != "whatsapp.com" {
		t.Fatalf("%v: %s", err, waits.PublicKey)
	}
	return options.Challenge
}

func (r *rig) assertion(phone *sandbox.Phone, challenge string) (a event.PasskeyAssertion) {
	r.t.Helper()
	var answer struct {
		ID, RawID string
		Response  struct{ ClientDataJSON, AuthenticatorData, Signature string }
	}
	if err := json.Unmarshal(r.ask(phone, `{"do":"passkey-assert","challenge":"`+challenge+`"}`), &answer); err != nil {
		r.t.Fatal(err)
	}
	raw := func(s string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			r.t.Fatal(err)
		}
		return b
	}
	return event.PasskeyAssertion{
		ID: answer.ID, RawID: raw(answer.RawID), ClientDataJSON: raw(answer.Response.ClientDataJSON),
		AuthenticatorData: raw(answer.Response.AuthenticatorData), Signature: raw(answer.Response.Signature),
	}
}

func TestPairingWithPasskey(t *testing.T) {
	r := newRig(t)
	if err := r.session.AssertPasskey(t.Context(), event.PasskeyAssertion{}); !errors.Is(err, event.ErrNoPasskey) {
		t.Errorf("before it was asked for: %v", err)
	}
	phone, challenge := r.challenged(`{"do":"passkey"}`)
	other := r.assertion(phone, challenge)
	if other.For = "another"; !errors.Is(r.session.AssertPasskey(t.Context(), other), event.ErrNoPasskey) {
		t.Error("an answer to another challenge is taken")
	}
	if waits := r.session.Passkey(); waits == nil || waits.ID == "" || !waits.ExpiresAt.After(time.Now()) {
		t.Fatalf("waits for %+v", waits)
	} else {
		other.For = waits.ID
	}
	if err := r.session.AssertPasskey(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	online := r.state(event.Online)
	if online.Link == nil || online.Link.JID != phone.JID().String() {
		t.Errorf("linked to %+v", online.Link)
	}
	if waits := r.session.Passkey(); waits != nil {
		t.Errorf("still waits for %+v", waits)
	}
}

func TestCorrectPasskeyAnswerAfterAWrongOne(t *testing.T) {
	r := newRig(t)
	phone, challenge := r.challenged(`{"do":"passkey"}`)
	for name, spoil := range map[string]func(*event.PasskeyAssertion){
		"signature":     func(a *event.PasskeyAssertion) { a.Signature[len(a.Signature)-1] ^= 1 },
		"credential":    func(a *event.PasskeyAssertion) { a.RawID[0] ^= 1 },
		"client data":   func(a *event.PasskeyAssertion) { a.ClientDataJSON = []byte(`{"type":"webauthn.get"}`) },
		"relying party": func(a *event.PasskeyAssertion) { a.AuthenticatorData[0] ^= 1 },
	} {
		a := r.assertion(phone, challenge)
		spoil(&a)
		if err := r.session.AssertPasskey(t.Context(), a); !errors.Is(err, event.ErrPasskeyRefused) {
			t.Errorf("wrong %s: %v", name, err)
		}
	}
	if err := r.session.AssertPasskey(t.Context(), r.assertion(phone, challenge)); err != nil {
		t.Fatal(err)
	}
	r.state(event.Online)
}

func TestPasskeyCodeComparison(t *testing.T) {
	r := newRig(t)
	phone, challenge := r.challenged(`{"do":"passkey","compare":true}`)
	if err := r.session.AssertPasskey(t.Context(), r.assertion(phone, challenge)); err != nil {
		t.Fatal(err)
	}
	if waits := r.session.Passkey(); waits.Awaits() || waits.State().Step != event.PasskeyRequired {
		t.Errorf("waits for %+v although it was answered", waits)
	}
	if err := r.session.AssertPasskey(t.Context(), r.assertion(phone, challenge)); err != nil {
		t.Fatal(err)
	}
	r.state(event.Pairing)
	var shown struct{ Code string }
	if err := json.Unmarshal(r.ask(phone, `{"do":"passkey-code"}`), &shown); err != nil {
		t.Fatal(err)
	}
	if waits := r.session.Passkey(); !waits.Awaits() || waits.Step != event.PasskeyCompare || waits.Code != shown.Code || len(shown.Code) != len("ABCD-EFGH") {
		t.Fatalf("waits for %+v, the phone shows %q", waits, shown.Code)
	}
	if err := r.session.ConfirmPasskey(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.session.ConfirmPasskey(t.Context()); !errors.Is(err, event.ErrNoPasskey) {
		t.Errorf("confirmed twice: %v", err)
	}
	r.state(event.Online)
}

func TestARefusedPasskeyLinksNothing(t *testing.T) {
	r := newRig(t)
	phone, challenge := r.challenged(`{"do":"passkey","refuse":true}`)
	if err := r.session.AssertPasskey(t.Context(), r.assertion(phone, challenge)); !errors.Is(err, event.ErrPasskeyRefused) {
		t.Errorf("got %v", err)
	}
	if waits := r.session.Passkey(); waits == nil || waits.PublicKey == nil || r.session.Paired() {
		t.Errorf("waits for %+v, paired %v", waits, r.session.Paired())
	}
}

func TestPasskeyCodeWaitsForConfirmation(t *testing.T) {
	s, cli, j := offline(t, Config{})
	s.linker.start(false)
	s.handle(cli, &events.PairPasskeyConfirmation{Code: "ABCD-EFGH"})
	if waits := s.Passkey(); waits == nil || waits.Code != "ABCD-EFGH" {
		t.Errorf("waits for %+v", waits)
	}
	if err := s.AssertPasskey(t.Context(), event.PasskeyAssertion{}); !errors.Is(err, event.ErrNoPasskey) {
		t.Errorf("an assertion instead: %v", err)
	}
	wantFacts(t, j, "connection.update passkey connecting pairing")
	s.linker.end(nil)
	if err := s.ConfirmPasskey(t.Context()); !errors.Is(err, event.ErrNoPasskey) {
		t.Errorf("after the pairing ended: %v", err)
	}
}

func TestPasskeyFailureIsAReasonWithoutWebhook(t *testing.T) {
	s, cli, j := offline(t, Config{})
	s.handle(cli, &events.PairPasskeyError{Error: errors.New("no options")})
	s.handle(cli, &events.PairPasskeyRequest{})
	wantFacts(t, j, " ", " ")
}
