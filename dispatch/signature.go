package dispatch

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// errNoSecret says that an event must be signed and cannot be. It is not sent unsigned.
var errNoSecret = errors.New("the signing secret cannot be read")

// sign returns the webhook-signature of Standard Webhooks: for each secret, the
// newest first, the HMAC-SHA256 of id, seconds and body.
func sign(secrets []string, id string, at time.Time, body []byte) (string, error) {
	signed := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) == 0 {
			return "", errNoSecret
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signed = append(signed, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signed, " "), nil
}
