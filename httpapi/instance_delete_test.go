package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postern/event"
	"postern/event/witness"
	"postern/httpapi/instances"
	"postern/store"
)

func TestDeletedInstanceIDIsNeverReused(t *testing.T) {
	for _, path := range []string{"/instance/a", "/instance/delete/a", "/instance/a?force=true"} {
		r := newRig(t)
		token := r.instance("a")
		got := decoded[instances.DeletedInstance](t, r.as(token, "DELETE", path, ""))
		want := instances.DeletedInstance{InstanceName: "a", Deleted: true, Forced: path == "/instance/a?force=true", Message: got.Message}
		if got != want || got.Message == "" {
			t.Errorf("%s: %+v", path, got)
		}
		wantError(t, r.as(token, "GET", "/instance/a", ""), 404, "INSTANCE_NOT_FOUND")
		if diff := cmp.Diff([]int64{1}, r.hub.revoked); diff != "" {
			t.Errorf("its WebSockets stay open: %s", diff)
		}
		again := decoded[instances.CreatedInstance](t, r.admin("POST", "/instance", `{"instanceName":"a"}`))
		if again.ID != 2 {
			t.Errorf("the new instance has id %d", again.ID)
		}
		wantError(t, r.as(token, "GET", "/instance/a", ""), 401, "UNAUTHORIZED")
	}
}

func TestUnforcedDeleteKeepsAnInstanceInUse(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	batch := decoded[struct{ ID string }](t, r.as(r.token, "POST", "/message/batches",
		`{"name":"b","instances":["a"],"recipients":["4915112345678"],"message":{"type":"text","payload":{"text":"x"}}}`))
	wantError(t, r.as(token, "DELETE", "/instance/a", ""), 409, "INSTANCE_IN_USE")
	if res := r.as(r.token, "POST", "/message/batches/"+batch.ID+"/stop", ""); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	jid := "4915112345678@s.whatsapp.net"
	err := r.store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := r.messages.StoreMessage(tx, 1, &event.Message{KeyID: "K", KeyRemoteJID: &jid, Content: json.RawMessage(`{}`)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, r.as(token, "DELETE", "/instance/a?force=false", ""), 409, "INSTANCE_IN_USE")
	wantError(t, r.as(token, "DELETE", "/instance/a?force=x", ""), 400, "INVALID_QUERY")
	wantError(t, r.as(token, "DELETE", "/instance/a?force=true&force=true", ""), 400, "INVALID_QUERY")
	wantError(t, r.as(token, "DELETE", "/instance/a?other=1", ""), 400, "INVALID_QUERY")
	if res := r.as(token, "GET", "/instance/a", ""); res.StatusCode != http.StatusOK {
		t.Errorf("a refused deletion changed something: %s", res.Status)
	}
	if got := decoded[instances.DeletedInstance](t, r.as(token, "DELETE", "/instance/a?force=true", "")); !got.Forced {
		t.Errorf("got %+v", got)
	}
}

func TestNewTokenClosesTheOldOnesSockets(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	decoded[instances.RotatedToken](t, r.admin("PUT", "/instance/a/token", ""))
	if diff := cmp.Diff([]int64{1}, r.hub.revoked); diff != "" {
		t.Error(diff)
	}
}

func TestWebhookTestIgnoresTheFlags(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	const path = "/instance/a/webhook/test"
	wantError(t, r.as(token, "POST", path, `{"event":"call.upsert"}`), 404, "WEBHOOK_NOT_FOUND")
	r.as(token, "PUT", "/instance/a/webhook", `{"url":"https://example.org/x","enabled":false,"events":{}}`)
	for status, delivered := range map[int]bool{http.StatusOK: true, http.StatusBadGateway: false} {
		r.answers = status
		res := r.as(token, "POST", path, `{"event":"call.upsert"}`)
		id := res.Header.Get("x-request-id")
		got := decoded[instances.TryAnswer](t, res)
		if got.Delivered != delivered || got.StatusCode != status || (got.Error == nil) != delivered {
			t.Errorf("got %+v", got)
		}
		if n := r.posted; n.RequestID != id || n.To[0].URL != "https://example.org/x" || witness.New(event.SchemaJSON).Check(event.CallUpsert, n.Body) != nil {
			t.Errorf("posted %+v", n)
		}
	}
	b := wantError(t, r.as(token, "POST", path, `{"event":"call.update"}`), 400, "UNKNOWN_EVENT")
	if want := `event is not an instance event; the nearest is "call.upsert"`; b.Messages[0] != want {
		t.Errorf("got %q", b.Messages)
	}
	wantError(t, r.as(token, "POST", path, `{"event":"message.batch.created"}`), 400, "UNKNOWN_EVENT")
	wantError(t, r.as(token, "POST", path, `{}`), 400, "MISSING_FIELD")
}

func TestQRCodeAsPicture(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	res := r.as(token, "GET", "/instance/a/qr.png", "")
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "image/png" || string(body) != "\x89PNG" {
		t.Errorf("%s %s %q %v", res.Status, res.Header.Get("Content-Type"), body, err)
	}
	r.line.paired.Store(true)
	r.line.online.Store(true)
	wantError(t, r.as(token, "GET", "/instance/a/qr.png", ""), 409, "ALREADY_CONNECTED")
}
