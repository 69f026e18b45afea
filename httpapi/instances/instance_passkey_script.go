package instances

import (
	_ "embed" // the script
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"postern/event"
	"postern/httpapi/rest"
)

// passkeySource is the script in readable form; it is served as one line. None of its lines may depend on
// the line break after it.
//
//go:embed instance_passkey_script.js
var passkeySource string

// scriptOptions is the script's request to an authenticator. It leaves out the challenge's extensions,
// because the answer has no field for their results.
type scriptOptions struct {
	Challenge        string             `json:"challenge"`
	Timeout          int                `json:"timeout,omitempty"` // milliseconds
	RPID             string             `json:"rpId,omitempty"`
	AllowCredentials []scriptCredential `json:"allowCredentials"`
	UserVerification string             `json:"userVerification,omitempty"`
}

type scriptCredential struct {
	ID         string   `json:"id"`
	Type       string   `json:"type"`
	Transports []string `json:"transports,omitempty"`
}

// maxScriptTimeout is in milliseconds. No pairing lasts longer.
const maxScriptTimeout = 3_600_000

// passkeyScript answers with the line that requests the signature from a browser, on the only site where
// browsers give it.
func (a *API) passkeyScript(c *rest.Call) error {
	asked, err := a.Supervisor.PasskeyAsked(c.Instance.ID)
	if err != nil {
		return err
	}
	script, err := PasskeyLine(asked.PublicKey)
	if err != nil {
		return err
	}
	h := c.Response.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	_, err = c.Response.Write([]byte(script))
	return err
}

// PasskeyLine returns the script for a challenge, in one line of printable ASCII. The contents of the
// challenge cannot change what it does, because all of them are inside one string.
func PasskeyLine(challenge json.RawMessage) (string, error) {
	var options scriptOptions
	if err := json.Unmarshal(challenge, &options); err != nil {
		return "", fmt.Errorf("%w: WhatsApp's challenge cannot be read", event.ErrNoPasskey)
	}
	if raw, err := base64.RawURLEncoding.DecodeString(options.Challenge); err != nil || len(raw) == 0 {
		return "", fmt.Errorf("%w: WhatsApp's challenge cannot be read", event.ErrNoPasskey)
	}
	options.Timeout = min(max(options.Timeout, 0), maxScriptTimeout)
	if options.AllowCredentials == nil {
		options.AllowCredentials = []scriptCredential{}
	}
	raw, err := json.Marshal(options)
	if err != nil {
		return "", fmt.Errorf("passkey script: %w", err)
	}
	var line strings.Builder
	for part := range strings.Lines(passkeySource) {
		line.WriteString(strings.TrimSpace(part))
	}
	return strings.Replace(line.String(), "OPTIONS", inQuotes(string(raw)), 1), nil
}

// inQuotes returns text as it is written between single quotes in JavaScript, in printable ASCII.
func inQuotes(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\'' || r == '\\':
			out.WriteRune('\\')
			out.WriteRune(r)
		case r >= ' ' && r <= '~':
			out.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		}
	}
	return out.String()
}
