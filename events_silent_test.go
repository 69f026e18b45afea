package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/event"
)

// status waits until the instance is in a state and returns its last error.
func (s *scene) status(t *testing.T, want event.State) string {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var is struct{ ConnectionStatus, LastError string }
		s.call(bearer(s.token), http.MethodGet, "/instance/"+sceneName+"/connection/status", nil, &is)
		if strings.EqualFold(is.ConnectionStatus, string(want)) {
			return is.LastError
		}
		if time.Now().After(deadline) {
			t.Fatalf("the instance is %s, not %s", is.ConnectionStatus, want)
		}
	}
}

func (s *scene) received() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.log)
}

// TestWhatIsNotToldMakesNoWebhook provokes what is deliberately silent. The
// stop at the end waits for every webhook on its way.
func TestWhatIsNotToldMakesNoWebhook(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	s := newScene(t)
	s.online(t)
	s.do(t, act("$anne", `{"do":"call-transport","to":"$own"}`))
	s.do(t, act("$anne", `{"do":"call-relaylatency","to":"$own","latencyMs":20}`))
	s.do(t, act("$anne", `{"do":"text","to":"$own","text":"after them"}`))
	s.awaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"after them"}}`)

	s.do(t, act("$own", `{"do":"logout"}`))
	s.awaitEvent(t, 0, event.ConnectionUpdated, `{"type":"logged.out"}`)
	from := s.received()
	connect := api(http.MethodGet, "/instance/$name/connect", "").as("qr")
	s.do(t, connect)
	s.do(t, act("$own", `{"do":"downgrade"}`)) // QRScannedWithoutMultidevice
	if why := s.status(t, event.ConnectionError); !strings.Contains(why, "multi-device") {
		t.Errorf("the pairing failed because of %q", why)
	}
	s.do(t, connect)
	s.do(t, act("$own", `{"do":"passkey"}`))
	s.do(t, step{method: http.MethodPost, path: "/sandbox/scan", body: `{"phone":"$own","code":"$qr.code"}`}.failing())
	s.status(t, event.Pairing) // PairPasskeyRequest
	s.stop()

	for i, r := range s.log {
		if r.event == string(event.CallUpsert) || i >= from && r.event != string(event.QRCodeUpdated) {
			t.Errorf("told: %s", r.body)
		}
	}
}
