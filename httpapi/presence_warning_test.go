package httpapi

import (
	"context"
	"strings"
	"testing"
)

// TestUnsentPresenceIsAWarning: the message is sent anyway.
func TestUnsentPresenceIsAWarning(t *testing.T) {
	r, token, _ := sender(t)
	r.line.onSend = func(context.Context) error {
		r.line.sent.Warn(`options.presence available was not sent: "ä"` + "\r\nEvil: 1")
		return nil
	}
	res := r.as(token, "POST", "/instance/a/send/text", `{"number":"4915112345678","textMessage":{"text":"hi"},"options":{"presence":"available"}}`)
	if got := res.Header.Get("Warning"); res.StatusCode != 200 || !strings.HasPrefix(got, `299 - "options.presence available was not sent: `) || strings.ContainsAny(got, "\r\n") || res.Header.Get("Evil") != "" {
		t.Errorf("status %d, warning %q", res.StatusCode, got)
	}
	r.line.onSend = nil
	res = r.as(token, "POST", "/instance/a/send/text", `{"number":"4915112345678","textMessage":{"text":"hi"}}`)
	if got := res.Header.Get("Warning"); res.StatusCode != 200 || got != "" {
		t.Errorf("status %d, warning %q", res.StatusCode, got)
	}
}
