package consumer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Tolerance is the allowed difference between the clocks of sender and receiver, by
// Standard Webhooks.
const Tolerance = 5 * time.Minute

// Secret is a signing secret of webhooks.
type Secret struct{ key []byte }

// ParseSecret parses a secret in the form of the API: whsec_ and
// the base64 of 24 to 64 bytes. An error does not repeat it.
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(text, "whsec_")
	if !ok {
		return Secret{}, errors.New("a signing secret begins with whsec_")
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return Secret{}, errors.New("a signing secret is whsec_ and base64; this one is incomplete or was changed")
	}
	if len(key) < 24 || len(key) > 64 {
		return Secret{}, fmt.Errorf("a signing secret has 24 to 64 bytes, not %d", len(key))
	}
	return Secret{key}, nil
}

// Verify returns nil when one of the secrets signed w as Standard Webhooks
// specifies, at most tolerance before or after its arrival. An error names the fault
// and its likely cause.
func Verify(w Webhook, tolerance time.Duration, secrets ...Secret) error {
	sent, err := signedAt(w)
	if err != nil {
		return err
	}
	if err := matches(w, sent, secrets); err != nil {
		return err
	}
	switch age := w.At.Sub(sent); {
	case age > tolerance:
		return fmt.Errorf("the signature is right, but was made %v ago, which is more than %v: the clocks differ, or it is a replay",
			age.Round(time.Second), tolerance)
	case age < -tolerance:
		return fmt.Errorf("the signature is right, but was made %v from now, which is more than %v: the clocks differ", -age.Round(time.Second), tolerance)
	}
	return nil
}

// signedAt returns the time of a webhook that has all headers of a signature.
func signedAt(w Webhook) (time.Time, error) {
	var missing []string
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		if w.Header.Get(name) == "" {
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) == 0:
	case w.Header.Get("webhook-signature") == "":
		return time.Time{}, fmt.Errorf("it is not signed: no %s; signing is not enabled for this destination, or a proxy removed the headers",
			strings.Join(missing, ", no "))
	default:
		return time.Time{}, fmt.Errorf("it has a signature, but no %s: a proxy removed the headers", strings.Join(missing, ", no "))
	}
	seconds, err := strconv.ParseInt(w.Header.Get("webhook-timestamp"), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("webhook-timestamp is %.40q, not a number of seconds", w.Header.Get("webhook-timestamp"))
	}
	return time.Unix(seconds, 0), nil
}

// matches reports whether one of the secrets made a signature.
func matches(w Webhook, sent time.Time, secrets []Secret) error {
	known := 0
	for one := range strings.FieldsSeq(w.Header.Get("webhook-signature")) {
		encoded, ok := strings.CutPrefix(one, "v1,")
		if !ok {
			continue // of a version to come
		}
		known++
		given, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue
		}
		for _, s := range secrets {
			if hmac.Equal(given, s.sum(w.ID, sent, w.Body)) {
				return nil
			}
		}
	}
	if known == 0 {
		return errors.New("webhook-signature has no signature of version v1")
	}
	return errors.New("no signature fits: the secret is that of another destination or was rotated more than a day ago, or a proxy changed the body")
}

func (s Secret) sum(id string, sent time.Time, body []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "%s.%d.", id, sent.Unix())
	h.Write(body)
	return h.Sum(nil)
}
