package whatsapp

import (
	"strings"
	"testing"

	"postern/event"
	"postern/sandbox"
)

// TestUnsentPresenceKeepsNoMessageBack has an account whose own name is not known.
func TestUnsentPresenceKeepsNoMessageBack(t *testing.T) {
	r := newRig(t)
	phone, err := r.net.AddPhone(sandbox.PhoneOptions{Number: "4915799000001"})
	if err != nil {
		t.Fatal(err)
	}
	r.pairWith(phone)
	ada := r.contact()
	for _, p := range []event.Presence{event.PresenceAvailable, event.PresenceUnavailable, event.PresenceComposing} {
		var warned []string
		out := event.Outgoing{
			ID: NewMessageID(), To: ada.JID().String(), Content: event.Content{Text: &event.TextContent{Text: "with " + string(p)}},
			Presence: p, Warn: func(problem string) { warned = append(warned, problem) },
		}
		if _, err := r.session.Send(t.Context(), out); err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		reads(t, ada, "with "+string(p))
		switch {
		case !p.OfAccount() && len(warned) > 0:
			t.Errorf("%s: warned %q", p, warned)
		case p.OfAccount() && (len(warned) != 1 || !strings.Contains(warned[0], "name is not known")):
			t.Errorf("%s: warned %q", p, warned)
		}
	}
}
