package consumer

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	ours   = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	theirs = "whsec_HxwdHhsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="
)

// signed returns a webhook that the reference library signed with each of the secrets.
func signed(t *testing.T, at time.Time, body string, secrets ...string) Webhook {
	t.Helper()
	w := Webhook{At: time.Now(), ID: "0199a2b4-0000-7000-8000-000000000001", Header: http.Header{}, Body: []byte(body)}
	var all []string
	for _, s := range secrets {
		signer, err := standardwebhooks.NewWebhook(s)
		if err != nil {
			t.Fatal(err)
		}
		one, err := signer.Sign(w.ID, at, w.Body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	w.Header.Set("webhook-id", w.ID)
	w.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	w.Header.Set("webhook-signature", strings.Join(all, " "))
	return w
}

func mustParse(t *testing.T, text string) Secret {
	t.Helper()
	s, err := ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASignatureOfTheReferenceLibraryIsRight(t *testing.T) {
	now := time.Now()
	for name, w := range map[string]Webhook{
		"one secret":                 signed(t, now, `{"event":"x"}`, ours),
		"an empty body":              signed(t, now, "", ours),
		"rotated, ours is the older": signed(t, now, `{}`, theirs, ours),
		"rotated, ours is the newer": signed(t, now, `{}`, ours, theirs),
		"nearly too old":             signed(t, now.Add(-Tolerance+10*time.Second), `{}`, ours),
		"nearly too new":             signed(t, now.Add(Tolerance-10*time.Second), `{}`, ours),
	} {
		if err := Verify(w, Tolerance, mustParse(t, ours)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := signed(t, now, `{}`, ours)
	if err := Verify(w, Tolerance, mustParse(t, theirs), mustParse(t, ours)); err != nil {
		t.Errorf("the second of two secrets: %v", err)
	}
	w.Header.Set("webhook-signature", "v2,later "+w.Header.Get("webhook-signature"))
	if err := Verify(w, Tolerance, mustParse(t, ours)); err != nil {
		t.Errorf("beside one of a version to come: %v", err)
	}
}

func TestAWrongSignatureIsRefusedWithItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Webhook)
		want  string
	}{
		"not signed": {func(w *Webhook) {
			w.Header.Del("webhook-signature")
			w.Header.Del("webhook-timestamp")
		}, "it is not signed: no webhook-timestamp, no webhook-signature; signing is not enabled"},
		"no id":            {func(w *Webhook) { w.Header.Del("webhook-id") }, "a signature, but no webhook-id: a proxy"},
		"a time in words":  {func(w *Webhook) { w.Header.Set("webhook-timestamp", "today") }, `webhook-timestamp is "today", not a number of seconds`},
		"another time":     {func(w *Webhook) { w.Header.Set("webhook-timestamp", "1") }, "no signature fits"},
		"another id":       {func(w *Webhook) { w.ID = "0199a2b4-0000-7000-8000-000000000002" }, "no signature fits"},
		"another body":     {func(w *Webhook) { w.Body = append(w.Body, '\n') }, "a proxy changed the body"},
		"another secret":   {func(w *Webhook) { *w = signed(t, time.Now(), `{}`, theirs) }, "the secret is that of another destination or was rotated"},
		"another version":  {func(w *Webhook) { w.Header.Set("webhook-signature", "v1a,AAAA") }, "no signature of version v1"},
		"no base64":        {func(w *Webhook) { w.Header.Set("webhook-signature", "v1,%%%") }, "no signature fits"},
		"an old one":       {func(w *Webhook) { *w = signed(t, time.Now().Add(-7*time.Minute), `{}`, ours) }, "right, but was made 7m"},
		"one of to-morrow": {func(w *Webhook) { *w = signed(t, time.Now().Add(24*time.Hour), `{}`, ours) }, "from now, which is more than 5m0s: the clocks differ"},
	} {
		w := signed(t, time.Now(), `{}`, ours)
		c.spoil(&w)
		if err := Verify(w, Tolerance, mustParse(t, ours)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	w := signed(t, time.Now().Add(-7*time.Minute), `{}`, ours)
	if err := Verify(w, 8*time.Minute, mustParse(t, ours)); err != nil {
		t.Errorf("within a longer tolerance: %v", err)
	}
}

func TestInvalidSecretIsRefusedAndNotRepeated(t *testing.T) {
	for text, want := range map[string]string{
		"": "begins with whsec_", ours[6:]: "begins with whsec_", ours[:len(ours)-2]: "this one is incomplete",
		"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23)): "24 to 64 bytes, not 23",
		"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)): "24 to 64 bytes, not 65",
	} {
		_, err := ParseSecret(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		} else if text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q is repeated: %v", text, err)
		}
	}
}
