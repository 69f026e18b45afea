package sandbox

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"

	"go.mau.fi/whatsmeow/types/events"

	"postern/sandbox/network"
)

// TestPhoneWithAPasskeyRequiresIt: by scan and by typed code, and one added without does not.
func TestPhoneWithAPasskeyRequiresIt(t *testing.T) {
	s := openServer(t, Config{})
	var ignored json.RawMessage
	for number, body := range map[string]string{
		"5511911111111": `{"phone":"5511911111111","passkey":true}`, "5511922222222": `{"phone":"5511922222222","passkey":false}`,
	} {
		if got := call(t, s, "POST", "/sandbox/phones", body, &ignored); got != http.StatusCreated {
			t.Fatalf("%s: %d", body, got)
		}
		c := newClient(t, s, nil)
		c.connect()
		code, _ := json.Marshal(map[string]string{"phone": number, "code": wait(c, 1, every[*events.QR]).Codes[0]})
		if got := call(t, s, "POST", "/sandbox/scan", string(code), &ignored); got != http.StatusOK {
			t.Fatalf("scanning: %d", got)
		}
		if number == "5511922222222" {
			wait(c, 1, every[*events.Connected])
		} else if asked := wait(c, 1, every[*events.PairPasskeyRequest]); asked.PublicKey.RelyingPartID != "whatsapp.com" || len(asked.PublicKey.Challenge) != 32 {
			t.Errorf("asked for %+v", asked.PublicKey)
		}
	}
	if got := call(t, s, "POST", "/sandbox/phones", `{"passkey":"yes"}`, &ignored); got != http.StatusBadRequest {
		t.Errorf("a passkey that is no boolean: %d", got)
	}
}

func TestCredentialSignsForItsPhone(t *testing.T) {
	s := openServer(t, Config{})
	var ignored json.RawMessage
	addPhone(t, s, "5511911111111")
	const act = "/sandbox/phones/5511911111111/act"
	if got := call(t, s, "POST", act, `{"do":"passkey-credential"}`, &ignored); got != http.StatusUnprocessableEntity {
		t.Errorf("of a phone without a passkey: %d", got)
	}
	call(t, s, "POST", act, `{"do":"passkey"}`, &ignored)
	var got network.Credential
	if status := call(t, s, "POST", act, `{"do":"passkey-credential"}`, &got); status != http.StatusOK || got.Party != "whatsapp.com" {
		t.Fatalf("%d, %+v", status, got)
	}
	raw, err := base64.StdEncoding.DecodeString(got.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x509.ParsePKCS8PrivateKey(raw); err != nil {
		t.Error(err)
	}
	var signed network.Assertion
	call(t, s, "POST", act, `{"do":"passkey-assert","challenge":"AQID"}`, &signed)
	id, err := base64.StdEncoding.DecodeString(got.ID)
	if err != nil || base64.RawURLEncoding.EncodeToString(id) != signed.RawID {
		t.Errorf("credential %s, signed by %s: %v", got.ID, signed.RawID, err)
	}
}
