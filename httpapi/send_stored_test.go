package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/httpapi/rest"
)

func TestEditChangesTheMessageInItsCommit(t *testing.T) {
	r, token := online(t)
	m := received("M1", anne, "")
	m.KeyFromMe = true
	id := r.keep(t, m)
	for i, path := range []string{chatPath + "edit-message", "/chat/editMessage/a"} {
		body := []string{`{"messageId":"M1","text":"hi"}`, `{"id":1,"text":"hi"}`}[i]
		edit := decoded[event.Message](t, r.as(token, "POST", path, body))
		sent := r.line.sent
		if sent.Content.Edit == nil || sent.Content.Edit.Text != "hi" || sent.Content.Edit.Original.Key.ID != "M1" || sent.To != anne {
			t.Fatalf("sent %+v", sent)
		}
		if edit.KeyID != sent.ID || edit.ID == id {
			t.Errorf("answered %+v", edit)
		}
	}
	// The fake session answers with the content {"text":"hi"}.
	if got, err := r.messages.Message(1, id); err != nil || string(got.Content) != `{"text":"hi"}` || got.KeyID != "M1" {
		t.Errorf("stored: %s, %v", got.Content, err)
	}
}

func TestAFailedEditChangesNothing(t *testing.T) {
	r, token := online(t)
	m := received("M1", anne, "")
	m.KeyFromMe = true
	id := r.keep(t, m)
	r.line.sendErr = event.ErrSendRefused
	wantError(t, r.as(token, "POST", chatPath+"edit-message", `{"messageId":"M1","text":"hi"}`), 422, "SEND_MESSAGE_FAILED")
	if got, err := r.messages.Message(1, id); err != nil || string(got.Content) != `{"text":"old"}` {
		t.Errorf("stored: %s, %v", got.Content, err)
	}
}

func TestADeletionNamesTheMessage(t *testing.T) {
	r, token := online(t)
	var id int64
	for _, keyID := range []string{"M1", "M2"} {
		m := received(keyID, anne, "")
		m.KeyFromMe = true
		id = r.keep(t, m)
	}
	r.keep(t, received("G1", aGroup, annesLID))
	for query, want := range map[string]event.MessageKey{
		"chat/delete-message?id=M1": {RemoteJID: anne, ID: "M1", FromMe: true},
		"chat/delete-message?id=2":  {RemoteJID: anne, ID: "M2", FromMe: true},
		"chat/delete-message?id=G1": {RemoteJID: aGroup, ID: "G1", Participant: annesLID},
	} {
		if res := r.as(token, "DELETE", "/instance/a/"+query, ""); res.StatusCode != 204 {
			t.Fatalf("%s: %s", query, res.Status)
		}
		if got := r.line.sent; got.Content.Delete == nil || *got.Content.Delete != want || got.To != want.RemoteJID {
			t.Errorf("%s: sent %+v", query, got)
		}
	}
	if _, err := r.messages.Message(1, id); err != nil {
		t.Errorf("the message itself: %v", err)
	}
}

// TestRepeatedDeletionSendsNothing for own messages and posts, which WhatsApp has deleted. Of others in a group it is
// not known, and a failed deletion is repeated.
func TestRepeatedDeletionSendsNothing(t *testing.T) {
	r, token, left := sender(t)
	for keyID, chat := range map[string]string{"M1": anne, "P1": aChannel} {
		m := received(keyID, chat, "")
		m.KeyFromMe = true
		r.keep(t, m)
	}
	r.keep(t, received("G1", aGroup, annesLID))
	r.keep(t, received("P2", aChannel, ""))
	for keyID, again := range map[string]int64{"M1": 0, "P1": 0, "P2": 0, "G1": 1} {
		path := chatPath + "delete-message?id=" + keyID
		r.line.sendErr = event.ErrSendRefused
		wantError(t, r.as(token, "DELETE", path, ""), 422, "SEND_MESSAGE_FAILED")
		r.line.sendErr = nil
		for _, want := range []int64{1, again, again} {
			before := left.Load()
			if res := r.as(token, "DELETE", path, ""); res.StatusCode != 204 || left.Load() != before+want {
				t.Errorf("%s: %s, %d left instead of %d", keyID, res.Status, left.Load()-before, want)
			}
		}
	}
	narrow := r.newKey(`{"name":"k","instances":["a"],"scopes":["send"],"recipients":["4915100000009"]}`).Key
	wantError(t, r.with(narrow, "DELETE", chatPath+"delete-message?id=M1", ""), 403, "RECIPIENT_NOT_ALLOWED")
}

// TestOldPostIsEdited although other messages of its age are not.
func TestOldPostIsEdited(t *testing.T) {
	r, token, left := sender(t)
	post := received("POST", aChannel, "")
	post.KeyFromMe, post.MessageType, post.Content = true, "conversation", []byte(`{"text":"old"}`)
	post.MessageTimestamp = time.Now().Add(-event.PostEditWindow + time.Hour).Unix()
	r.keep(t, post)
	if res := r.as(token, "POST", chatPath+"edit-message", `{"messageId":"POST","text":"new"}`); res.StatusCode != 200 || left.Load() != 1 {
		t.Errorf("%s, %d left", res.Status, left.Load())
	}
}

func TestDeletionIsDoneOncePerIdempotencyKey(t *testing.T) {
	r, token, left := sender(t)
	for _, id := range []string{"M1", "M2"} {
		m := received(id, anne, "")
		m.KeyFromMe = true
		r.keep(t, m)
	}
	del := func(id string) answer {
		req := httptest.NewRequest("DELETE", chatPath+"delete-message?id="+id, nil)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Idempotency-Key", "k")
		return read(t, do(r.h, req))
	}
	first, again := del("M1"), del("M1")
	if first.status != 204 || !again.replayed || again.status != 204 || again.body != "" || left.Load() != 1 {
		t.Errorf("first %v, again %v, %d left", first, again, left.Load())
	}
	if other := del("M2"); other.code() != rest.CodeKeyReused || left.Load() != 1 {
		t.Errorf("another message under the same key: %v", other)
	}
}

func TestForwardCarriesTheMessageAndStatusNoRecipient(t *testing.T) {
	r, token := online(t)
	r.keep(t, received("A1", anne, ""))
	if res := r.as(token, "POST", "/instance/a/send/forward", `{"number":"4915100000001","messageId":"A1"}`); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	if f := r.line.sent.Content.Forward; f == nil || f.Key.ID != "A1" || string(f.Content) != `{"text":"old"}` || r.line.sent.To != "4915100000001@s.whatsapp.net" {
		t.Errorf("sent %+v", r.line.sent)
	}
	body := `{"statusMessage":{"text":"fresh","backgroundColor":"#102030","font":2},"options":{"externalAttributes":{"a":1}}}`
	stored := decoded[event.Message](t, r.as(token, "POST", "/instance/a/send/status", body))
	if s := r.line.sent; s.To != event.StatusBroadcast || s.Content.Status == nil || s.Content.Status.Font != 2 || string(stored.ExternalAttributes) != `{"a":1}` {
		t.Errorf("sent %+v, stored %+v", s, stored)
	}
}

func TestBadCallAboutAMessageSendsNothing(t *testing.T) {
	r, token, left := sender(t)
	keep := func(m event.Message, mine bool) {
		m.KeyFromMe = mine
		r.keep(t, m)
	}
	keep(received("THEIRS", anne, ""), false)
	keep(received("MINE", anne, ""), true)
	old, place, post := received("OLD", anne, ""), received("PLACE", anne, ""), received("POST", aChannel, "")
	old.MessageTimestamp = time.Now().Add(-time.Hour).Unix()
	post.MessageTimestamp = time.Now().Add(-event.PostEditWindow - time.Minute).Unix()
	keep(post, true)
	place.MessageType, place.Content = "locationMessage", []byte(`{}`)
	keep(old, true)
	keep(place, true)
	edit, del := chatPath+"edit-message", chatPath+"delete-message"
	for _, c := range []refusedCall{
		{"POST", edit, `{"text":"x"}`, 422, "INVALID_ARGUMENT", "exactly one"},
		{"POST", edit, `{"messageId":1,"id":1,"text":"x"}`, 422, "INVALID_ARGUMENT", "exactly one"},
		{"POST", edit, `{"messageId":"MINE"}`, 400, rest.CodeMissingField, "text"},
		{"POST", edit, `{"messageId":"MINE","text":""}`, 422, "INVALID_MESSAGE", "text"},
		{"POST", edit, `{"messageId":"MINE","text":"` + strings.Repeat("é", event.MaxText+1) + `"}`, 422, "INVALID_MESSAGE", "text"},
		{"POST", edit, `{"messageId":"NONE","text":"x"}`, 404, "MESSAGE_NOT_FOUND", ""},
		{"POST", edit, `{"messageId":"THEIRS","text":"x"}`, 422, "INVALID_MESSAGE", "account itself"},
		{"POST", edit, `{"messageId":"OLD","text":"x"}`, 422, "INVALID_MESSAGE", "older"},
		{"POST", edit, `{"messageId":"POST","text":"x"}`, 422, "INVALID_MESSAGE", "30 days"},
		{"POST", edit, `{"messageId":"PLACE","text":"x"}`, 422, "INVALID_MESSAGE", "locationMessage"},
		{"DELETE", del, "", 400, rest.CodeInvalidQuery, "id"},
		{"DELETE", del + "?id=", "", 400, rest.CodeInvalidQuery, "id"},
		{"DELETE", del + "?id=MINE&id=OLD", "", 400, rest.CodeInvalidQuery, "id"},
		{"DELETE", del + "?id=MINE", `{"id":"OLD"}`, 400, rest.CodeUnknownField, "id"},
		{"DELETE", del + "?id=NONE", "", 404, "MESSAGE_NOT_FOUND", ""},
		{"DELETE", del + "?id=-1", "", 404, "MESSAGE_NOT_FOUND", ""},
		{"DELETE", del + "?id=THEIRS", "", 422, "INVALID_MESSAGE", "groups"},
		{"POST", "/instance/a/send/forward", `{"messageId":"MINE"}`, 400, "ONE_RECIPIENT", ""},
		{"POST", "/instance/a/send/forward", `{"number":"4915112345678"}`, 400, rest.CodeMissingField, "messageId"},
		{"POST", "/instance/a/send/forward", `{"number":"4915112345678","messageId":99}`, 404, "MESSAGE_NOT_FOUND", ""},
		{"POST", "/instance/a/send/status", `{"number":"4915112345678","statusMessage":{"text":"x"}}`, 400, rest.CodeUnknownField, "number"},
		{"POST", "/instance/a/send/status", `{"statusMessage":{"text":""}}`, 422, "INVALID_MESSAGE", "text"},
		{"POST", "/instance/a/send/status", `{"statusMessage":{"text":"x","backgroundColor":"red"}}`, 422, "INVALID_MESSAGE", "backgroundColor"},
		{"POST", "/instance/a/send/status", `{"statusMessage":{"text":"x","font":11}}`, 422, "INVALID_MESSAGE", "font"},
		{"POST", "/instance/a/send/status", `{"statusMessage":{"text":"x"},"options":{"delay":1}}`, 400, rest.CodeUnknownField, "options.delay"},
	} {
		got := wantError(t, r.as(token, c.method, c.path, c.body), c.status, c.code)
		if !strings.Contains(strings.Join(got.Messages, " "), c.names) {
			t.Errorf("%s %s: %q does not name %s", c.path, c.body, got.Messages, c.names)
		}
	}
	if left.Load() != 0 {
		t.Errorf("%d messages left", left.Load())
	}
}
