package events

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// status waits until the instance is in a state and returns its last error.
func status(t *testing.T, s *rig.Scene, want event.State) string {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var is struct{ ConnectionStatus, LastError string }
		s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/"+rig.SceneName+"/connection/status", nil, &is)
		if strings.EqualFold(is.ConnectionStatus, string(want)) {
			return is.LastError
		}
		if time.Now().After(deadline) {
			t.Fatalf("the instance is %s, not %s", is.ConnectionStatus, want)
		}
	}
}

// TestUnreportedEventsSendNoWebhook provokes what is deliberately silent. The
// stop at the end waits for every webhook on its way.
func TestUnreportedEventsSendNoWebhook(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	s := rig.NewScene(t)
	s.Online(t)
	s.Do(t, rig.Act("$anne", `{"do":"call-transport","to":"$own"}`))
	s.Do(t, rig.Act("$anne", `{"do":"call-relaylatency","to":"$own","latencyMs":20}`))
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"after them"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"after them"}}`)
	s.AwaitEvent(t, 0, event.ContactsUpdate, `[{"pushName":"Anne","source":"pushName"}]`) // the library reports the name by a goroutine of its own

	s.Do(t, rig.Act("$own", `{"do":"logout"}`))
	s.AwaitEvent(t, 0, event.ConnectionUpdated, `{"type":"logged.out"}`)
	from := len(s.Webhooks())
	connect := rig.Route(http.MethodGet, "/instance/$name/connect", "").As("qr")
	s.Do(t, connect)
	s.Do(t, rig.Act("$own", `{"do":"downgrade"}`)) // QRScannedWithoutMultidevice
	if why := status(t, s, event.ConnectionError); !strings.Contains(why, "multi-device") {
		t.Errorf("the pairing failed because of %q", why)
	}
	s.Stop()

	for i, r := range s.Webhooks() {
		if r.Event == string(event.CallUpsert) || i >= from && r.Event != string(event.QRCodeUpdated) {
			t.Errorf("reported: %s", r.Body)
		}
	}
}
