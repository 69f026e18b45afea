package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
)

// said is the part of an answer that a client can compare.
func said(t *testing.T, res *http.Response) string {
	t.Helper()
	body := text(t, res)
	id := res.Header.Get("X-Request-Id")
	h := res.Header.Clone()
	for _, name := range []string{"X-Request-Id", "Date", "Content-Length"} {
		h.Del(name)
	}
	return fmt.Sprint(res.StatusCode, h, strings.ReplaceAll(body, id, "ID"))
}

// TestForeignAndUnknownNamesAreAnsweredAlike on every route that names an instance or a batch, byte for byte
// except for the request id. What a caller sees of a batch of several instances does not name those of
// others.
func TestForeignAndUnknownNamesAreAnsweredAlike(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"mine", "foreign"} {
		r.instance(name)
	}
	batchOf := func(instances string) string {
		body := `{"name":"x","instances":` + instances + `,"recipients":["4915112345678"],"autoStart":false,"message":{"type":"text","payload":{"text":"x"}}}`
		return decoded[batch.View](t, r.with(r.token, "POST", "/message/batches", body)).ID.String()
	}
	foreign, both := batchOf(`["foreign"]`), batchOf(`["mine","foreign"]`)
	key := r.newKey(`{"name":"k","instances":["mine"],"scopes":["read","send","manage","pair","webhook","batch","metrics","media","deliveries"],"userId":"` + r.user.String() + `"}`).Key
	ask := func(method, path string) string {
		return said(t, r.with(key, method, path, `{}`))
	}
	item := uuid.NewString()
	instances, batches := 0, 0
	for _, row := range routes() {
		if row.Right == rest.Never || row.IsSocket() {
			continue
		}
		fill := func(name, id string) string {
			return concrete(strings.NewReplacer("{i}", name, "{item}", item).Replace(strings.Replace(row.Path, "/message/batches/{id}", "/message/batches/"+id, 1)))
		}
		switch {
		case strings.Contains(row.Path, "{i}"):
			instances++
			foreign, unknown := ask(row.Method, fill("foreign", "")), ask(row.Method, fill("none", ""))
			if foreign != unknown || !strings.HasPrefix(foreign, "403 ") || strings.Contains(foreign, "foreign") {
				t.Errorf("%s %s:\n%s\n%s", row.Method, row.Path, foreign, unknown)
			}
		case strings.HasPrefix(row.Path, "/message/batches/{id}"):
			batches++
			unknown := ask(row.Method, fill("", uuid.NewString()))
			if got := ask(row.Method, fill("", foreign)); got != unknown || !strings.HasPrefix(got, "404 ") {
				t.Errorf("%s %s:\n%s\n%s", row.Method, row.Path, got, unknown)
			}
			if got := ask(row.Method, fill("", both)); strings.Contains(got, "foreign") || !strings.Contains(row.Path, "{item}") && strings.HasPrefix(got, "404 ") {
				t.Errorf("%s %s of several:\n%s", row.Method, row.Path, got)
			}
		}
	}
	if instances < 80 || batches < 10 {
		t.Errorf("%d and %d routes were asked", instances, batches)
	}
	var created []string
	for _, name := range []string{"foreign", "none"} {
		body := `{"name":"x","instances":["mine","` + name + `"],"recipients":["4915112345678"],"message":{"type":"text","payload":{"text":"x"}}}`
		created = append(created, said(t, r.with(key, "POST", "/message/batches", body)))
	}
	if created[0] != created[1] || !strings.HasPrefix(created[0], "403 ") || strings.Contains(created[0], "foreign") {
		t.Errorf("POST /message/batches:\n%s", strings.Join(created, "\n"))
	}
	for _, list := range []string{
		said(t, r.with(key, "GET", "/message/batches", "")), said(t, r.with(key, "POST", "/message/batches/list", `{"instanceName":"mine"}`)),
	} {
		if strings.Contains(list, "foreign") || !strings.Contains(list, both) {
			t.Errorf("a list: %s", list)
		}
	}
	for _, path := range []string{"/instance?instanceName=", "/message/batches?instanceName=", "/ws/instance/events?event=*&instance="} {
		var all []string
		for _, name := range []string{"foreign", "none"} {
			req := httptest.NewRequest("GET", path+name, nil)
			if strings.HasPrefix(path, "/ws/") {
				req = handshakeOf(path+name, nil)
			}
			req.Header.Set("Authorization", "Bearer "+key)
			all = append(all, said(t, do(r.h, req)))
		}
		if len(slices.Compact(all)) != 1 {
			t.Errorf("GET %s:\n%s", path, strings.Join(all, "\n"))
		}
	}
}

// TestForeignAndMissingMessagesAreAnsweredAlike to a key with recipients, whatever the foreign message is.
func TestForeignAndMissingMessagesAreAnsweredAlike(t *testing.T) {
	r, token, d := doing(t)
	const other = "4915199999999@s.whatsapp.net"
	foreign := received("F1", other, "")
	own, old := received("F2", other, ""), received("F3", other, "")
	own.KeyFromMe, old.KeyFromMe, old.MessageTimestamp = true, true, 1
	deleted := received("F4", other, "")
	deleted.KeyFromMe = true
	for _, m := range []event.Message{foreign, own, old, deleted} {
		r.keep(t, m)
	}
	if res := r.as(token, "DELETE", chatPath+"delete-message?id=F4", ""); res.StatusCode != 204 {
		t.Fatal(res.Status)
	}
	r.line.sent = event.Outgoing{}
	mine := received("A1", anne, "")
	mine.KeyFromMe = true
	r.keep(t, mine)
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["send"],"recipients":["4915112345678","` + aChannel + `"]}`).Key
	for _, call := range [][3]string{
		{"POST", "chat/edit-message", `{"messageId":"$","text":"x"}`},
		{"DELETE", "chat/delete-message?id=$", ""},
		{"POST", "chat/pin-message", `{"messageId":"$","pinned":true}`},
		{"POST", "chat/keep-message", `{"messageId":"$","keep":true}`},
		{"POST", "chat/read-message", `{"messageId":["$"]}`},
		{"POST", "send/poll-vote", `{"messageId":"$","options":[]}`},
		{"POST", "send/reaction", `{"number":"9@newsletter","reactionMessage":{"key":{"remoteJid":"9@newsletter","id":"$","fromMe":false},"reaction":"x"}}`},
	} {
		ask := func(id string) *http.Response {
			return r.with(key, call[0], "/instance/a/"+strings.Replace(call[1], "$", id, 1), strings.Replace(call[2], "$", id, 1))
		}
		missing := said(t, ask("NONE"))
		if !strings.HasPrefix(missing, "403 ") || !strings.Contains(missing, "RECIPIENT_NOT_ALLOWED") {
			t.Errorf("%s of no message: %s", call[1], missing)
		}
		for _, id := range []string{"F1", "F2", "F3", "F4", "1"} {
			if got := said(t, ask(id)); got != missing {
				t.Errorf("%s of %s: %s", call[1], id, got)
			}
		}
	}
	if len(d.asked) > 0 || r.line.sent.ID != "" {
		t.Errorf("WhatsApp was asked %v, and got %+v", d.asked, r.line.sent)
	}
	if res := r.with(key, "POST", chatPath+"edit-message", `{"messageId":"A1","text":"x"}`); res.StatusCode != 200 {
		t.Errorf("of a recipient's chat: %s %s", res.Status, text(t, res))
	}
}

// TestKeyWithoutReadFindsNoMessage: the answer is the same for messages that are stored and for others.
func TestKeyWithoutReadFindsNoMessage(t *testing.T) {
	r, _, _ := doing(t)
	r.keep(t, received("A1", anne, ""))
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["send","batch"],"userId":"` + rest.ExampleUUID + `"}`).Key
	const aBatch = `{"name":"n","instances":["a"],"recipients":["4915112345678"],"autoStart":false,`
	for _, call := range [][2]string{
		{sendPath, `{"number":"4915112345678","textMessage":{"text":"x"},"options":{"quotedMessageId":"$"}}`},
		{"/instance/a/send/forward", `{"number":"4915112345678","messageId":"$"}`},
		{"/message/batches", aBatch + `"message":{"type":"text","payload":{"text":"x"}},"options":{"quotedMessageId":"$"}}`},
		{"/message/batches", aBatch + `"message":{"type":"forward","payload":{"messageId":"$"}}}`},
	} {
		stored, missing := said(t, r.with(key, "POST", call[0], strings.Replace(call[1], "$", "A1", 1))), said(t, r.with(key, "POST", call[0], strings.Replace(call[1], "$", "NONE", 1)))
		if stored != missing || !strings.HasPrefix(stored, "403 ") || !strings.Contains(stored, "SCOPE") {
			t.Errorf("%s %s:\n%s\n%s", call[0], call[1], stored, missing)
		}
	}
}
