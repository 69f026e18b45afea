package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/event"
	"postern/httpapi/rest"
)

// TestSocketOpeningDuringNarrowingIsRefused: the change itself closes only existing sockets.
func TestSocketOpeningDuringNarrowingIsRefused(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	for _, path := range []string{"/ws/console", "/ws/instance/events?event=*&instance=a", "/ws/global/events?event=*"} {
		for change, narrows := range map[string]bool{
			`{"instances":["b"]}`: true, `{"instances":["a"]}`: true, `{"recipients":["4915112345678"]}`: true, `{"expiresAt":"2999-01-01T00:00:00Z"}`: true,
			`{"instances":["*"]}`: false, `{"name":"other"}`: false, `{"rateLimit":{"perMinute":5}}`: false,
		} {
			k := r.newKey(`{"name":"k","instances":["a","b"],"scopes":["read","batch"],"userId":"` + rest.ExampleUUID + `"}`)
			if res := do(r.h, handshakeOf(path, func(h http.Header) { h.Set("Authorization", "Bearer "+k.Key) })); res.StatusCode != 101 {
				t.Fatalf("%s: %s", path, res.Status)
			}
			if res := r.admin("PATCH", "/keys/"+k.ID.String(), change); res.StatusCode != 200 {
				t.Fatalf("%s: %s", change, res.Status)
			}
			if err := r.hub.stream.Check(); (err != nil) != narrows {
				t.Errorf("%s after %s: %v", path, change, err)
			}
		}
	}
}

// TestRoutesRespectTheKeysRecipients covers every route with the scope send: it sends the document's example,
// which names a recipient. The refusal comes before anything is sent or looked up.
func TestRoutesRespectTheKeysRecipients(t *testing.T) {
	r, _, d := doing(t)
	chat := rest.ExampleJID
	stored := r.keep(t, event.Message{KeyID: rest.ExampleKeyID, KeyRemoteJID: &chat, KeyFromMe: true})
	files := map[string]string{"media-file": "photo.jpg", "ptt-file": "note.ogg", "sticker-file": "sticker.webp"}
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["send"],"recipients":["4915199999999"]}`).Key
	doc := theDocument(t)
	tried := 0
	for _, row := range routes() {
		if row.Right&rest.ScopeSend == 0 || strings.Contains(row.Path, "/scheduled/") { // which sends nothing
			continue
		}
		tried++
		path := strings.Replace(row.Path, "{i}", "a", 1)
		o := doc.Paths[documentPath(row.Path)][strings.ToLower(row.Method)]
		body, kind := []byte(strings.Replace(string(o.RequestBody.Content["application/json"].Example), `"messageId":42`, fmt.Sprintf(`"messageId":%d`, stored), 1)), "application/json"
		if name := files[filepath.Base(path)]; name != "" {
			raw, err := os.ReadFile(filepath.Join("..", "media", "testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			parts := []part{{"attachment", name, string(raw)}, {name: "number", text: rest.ExamplePhone}}
			if name == "photo.jpg" {
				parts = append(parts, part{name: "mediaType", text: "image"})
			}
			body, kind = formBody(t, parts...)
		}
		if strings.HasSuffix(path, "/notify") {
			path += "?to=" + rest.ExamplePhone
		}
		if strings.HasSuffix(path, "/delete-message") {
			path += "?id=" + rest.ExampleKeyID
		}
		req := httptest.NewRequest(row.Method, path, strings.NewReader(string(body)))
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", kind)
		res := do(r.h, req)
		var e rest.ErrorBody
		if err := json.NewDecoder(res.Body).Decode(&e); err != nil || res.StatusCode != 403 || e.Code != rest.CodeRecipientNotAllowed {
			t.Errorf("%s %s with %.200q: %d %s %q", row.Method, path, body, res.StatusCode, e.Code, e.Messages)
		}
	}
	if tried < 40 || len(d.asked) > 0 || r.line.sent.ID != "" {
		t.Errorf("%d routes; WhatsApp was asked %v, and got %+v", tried, d.asked, r.line.sent)
	}
}

// TestKeyWithRecipientsCannotBroadcast: no status, and no mention of everybody, not even in a group that it may write
// to.
func TestKeyWithRecipientsCannotBroadcast(t *testing.T) {
	r, _, d := doing(t)
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["send"],"recipients":["` + rest.ExampleGroup + `","4915112345678"]}`).Key
	body, kind := formBody(t, part{"attachment", "a.png", "\x89PNG\r\n\x1a\n"}, part{name: "mediaType", text: "image"}, part{name: "chat", text: rest.ExampleGroup}, part{name: "options", text: `{"mentionAll":true}`})
	wantError(t, r.form("/instance/a/send/media-file", key, body, kind), 403, "RECIPIENT_NOT_ALLOWED")
	wantError(t, r.with(key, "POST", "/instance/a/send/text", `{"chat":"`+rest.ExampleGroup+`","textMessage":{"text":"x"},"options":{"mentionAll":true}}`), 403, "RECIPIENT_NOT_ALLOWED")
	wantError(t, r.with(key, "POST", "/instance/a/send/status", `{"statusMessage":{"text":"x"}}`), 403, "RECIPIENT_NOT_ALLOWED")
	wantError(t, r.with(key, "POST", "/instance/a/send/status", `{"statusMessage":{"text":"x","audience":["4915112345678","4915100000000"]}}`), 403, "RECIPIENT_NOT_ALLOWED")
	if len(d.asked) > 0 || r.line.sent.ID != "" {
		t.Errorf("WhatsApp was asked %v, and got %+v", d.asked, r.line.sent)
	}
	if resp := r.with(key, "POST", "/instance/a/send/status", `{"statusMessage":{"text":"x","audience":["4915112345678"]}}`); resp.StatusCode != 200 || len(r.line.sent.Audience) != 1 {
		t.Errorf("a status for one of the recipients: %s, to %v", resp.Status, r.line.sent.Audience)
	}
}

// TestKeyWithRecipientsLeavesAccountsPresence: everybody sees it.
func TestKeyWithRecipientsLeavesAccountsPresence(t *testing.T) {
	r, _, d := doing(t)
	post := func(more, body string) *http.Response {
		key := r.newKey(`{"name":"k","instances":["a"],"scopes":["send"]` + more + `}`).Key
		return r.with(key, "POST", chatPath+"presence", body)
	}
	const narrow = `,"recipients":["4915112345678"]`
	for _, presence := range []string{"available", "unavailable"} {
		wantError(t, post(narrow, `{"presence":"`+presence+`"}`), 403, "RECIPIENT_NOT_ALLOWED")
	}
	if len(d.asked) > 0 {
		t.Errorf("WhatsApp was asked %v", d.asked)
	}
	for _, res := range []*http.Response{post("", `{"presence":"available"}`), post(narrow, `{"presence":"composing","chat":"4915112345678"}`)} {
		if res.StatusCode != 200 {
			t.Errorf("%s %s", res.Status, text(t, res))
		}
	}
}
