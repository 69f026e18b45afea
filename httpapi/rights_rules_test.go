package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"postern/event"
)

// TestAKeyShowsNoInstanceThatIsGone: its name may be that of another by now, and who sends
// the list back with a change would open that.
func TestAKeyShowsNoInstanceThatIsGone(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	token := r.instance("b")
	k := r.newKey(`{"name":"k","instances":["a","b"],"scopes":["read"]}`)
	if res := r.with(token, "DELETE", "/instance/b", ""); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	r.instance("b")
	path := "/keys/" + k.ID.String()
	for _, shown := range []keyView{
		decoded[keyView](t, r.admin("GET", path, "")),
		*decoded[shownSession](t, r.with(k.Key, "GET", "/session", "")).Key,
		decoded[keyView](t, r.admin("PATCH", path, `{"name":"other"}`)),
	} {
		if !slices.Equal(shown.Instances, []string{"a"}) {
			t.Errorf("it shows %q", shown.Instances)
		}
	}
}

// TestAKeyWithoutPairHearsNoCode: whoever has one links the account.
func TestAKeyWithoutPairHearsNoCode(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	listen := func(scopes, events string) *http.Response {
		key := r.newKey(`{"name":"k","instances":["a"],"scopes":[` + scopes + `]}`).Key
		return do(r.h, handshakeOf("/ws/instance/events?event="+events, func(h http.Header) { h.Set("Authorization", "Bearer "+key) }))
	}
	for events, most := range map[string]int{"*": 26, "qrcode.updated,*": 26, "messages.upsert": 1} {
		res, kinds := listen(`"read"`, events), r.hub.stream.Kinds
		if res.StatusCode != 101 || len(kinds) != most || slices.Contains(kinds, event.QRCodeUpdated) || !slices.Contains(kinds, event.MessagesUpsert) {
			t.Errorf("%s: %s, %v", events, res.Status, kinds)
		}
	}
	wantError(t, listen(`"read"`, "messages.upsert,qrcode.updated"), 403, "SCOPE")
	if res := listen(`"read","pair"`, "*"); res.StatusCode != 101 || r.hub.stream.Kinds != nil {
		t.Errorf("with pair: %s, %v", res.Status, r.hub.stream.Kinds)
	}
}

// TestAKeyWithoutReadSendsNothingOnThatIsStored, by quoting, by forwarding and by a batch:
// the answer and the message would tell what it may not read.
func TestAKeyWithoutReadSendsNothingOnThatIsStored(t *testing.T) {
	r, _, _ := doing(t)
	chat := exampleJID
	stored := r.keep(t, event.Message{KeyID: exampleKeyID, KeyRemoteJID: &chat, MessageType: "conversation", Content: []byte(`{"text":"secret"}`)})
	quote := fmt.Sprintf(`{"number":"4915112345678","textMessage":{"text":"x"},"options":{"quotedMessageId":%d}}`, stored)
	forward := fmt.Sprintf(`{"number":"4915112345678","messageId":%d}`, stored)
	batch := fmt.Sprintf(`{"name":"n","instances":["a"],"recipients":["4915112345678"],"message":{"type":"text","payload":{"text":"x"}},"autoStart":false,"options":{"quotedMessageId":%d}}`, stored)
	for path, body := range map[string]string{"/instance/a/send/text": quote, "/instance/a/send/forward": forward, "/message/batches": batch} {
		for scopes, may := range map[string]bool{`"send","batch"`: false, `"send","batch","read"`: true} {
			key := r.newKey(`{"name":"k","instances":["a"],"scopes":[` + scopes + `],"userId":"` + exampleUUID + `"}`).Key
			res := r.with(key, "POST", path, body)
			if may && res.StatusCode >= 300 {
				t.Errorf("%s with %s: %s %s", path, scopes, res.Status, text(t, res))
			}
			if !may {
				wantError(t, res, 403, "SCOPE")
			}
		}
	}
}
