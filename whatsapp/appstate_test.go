package whatsapp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/sandbox"
)

// acts makes a phone do something.
func (r *rig) acts(phone *sandbox.Phone, body string) {
	r.t.Helper()
	rec := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(r.t.Context(), http.MethodPost, "/sandbox/phones/"+phone.Number()+"/act", strings.NewReader(body))
	if r.net.Control().ServeHTTP(rec, req); rec.Code >= 300 {
		r.t.Fatalf("%s: %d %s", body, rec.Code, rec.Body)
	}
}

// TestAppStateIsReadAfterAnOutage: on the same connection,
// which may last for weeks.
func TestAppStateIsReadAfterAnOutage(t *testing.T) {
	r := newRig(t)
	r.session.Account.AppState.retry = 20 * time.Millisecond
	r.net.SetFaults(sandbox.Faults{StateError: 503})
	defer r.net.SetFaults(sandbox.Faults{})
	phone := r.pair()
	for end := time.Now().Add(patience); !r.net.StateRead(phone); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the state was not asked for")
		}
	}
	r.net.SetFaults(sandbox.Faults{})
	r.synced()
	contact := r.contact()
	r.acts(phone, `{"do":"archive","chat":"`+contact.Number()+`"}`)
	r.shows(event.ChatsUpdated, `"type":"archive"`, contact.Number(), `"fromFullSync":false`)
	r.mu.Lock()
	defer r.mu.Unlock()
	logins := 0
	for _, f := range r.history {
		if u, ok := f.Data.(event.ConnectionUpdate); ok && u.Type == event.TypeConnected {
			logins++
		}
	}
	if logins != 1 {
		t.Errorf("%d logins", logins)
	}
}

// TestAppStateChangeDuringAnOutageIsReported: the library was notified of it,
// could not read it, and is not notified again.
func TestAppStateChangeDuringAnOutageIsReported(t *testing.T) {
	r := newRig(t)
	phone, contact := r.pair(), r.contact()
	r.synced()
	r.net.SetFaults(sandbox.Faults{StateError: 503})
	defer r.net.SetFaults(sandbox.Faults{})
	r.acts(phone, `{"do":"pin","chat":"`+contact.Number()+`"}`)
	if _, err := contact.SendText(t.Context(), phone.JID(), "behind the notice"); err != nil {
		t.Fatal(err)
	}
	r.await("message", message("behind the notice"))
	r.net.SetFaults(sandbox.Faults{})
	r.net.Drop(phone.Number())
	r.shows(event.ChatsUpdated, `"type":"pin"`, contact.Number(), `"fromFullSync":false`)
}
