package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/batch"
	"postern/delivery"
	"postern/event"
	"postern/httpapi/deliveries"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
)

// TestAKeyShowsNoInstanceThatIsGone: its name may now belong to another instance, which a client would open by sending the
// list back with a change.
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
	for _, shown := range []operator.KeyView{
		decoded[operator.KeyView](t, r.admin("GET", path, "")),
		*decoded[operator.ShownSession](t, r.with(k.Key, "GET", "/session", "")).Key,
		decoded[operator.KeyView](t, r.admin("PATCH", path, `{"name":"other"}`)),
	} {
		if !slices.Equal(shown.Instances, []string{"a"}) {
			t.Errorf("it shows %q", shown.Instances)
		}
	}
}

// TestAKeyWithoutPairHearsNoCode, because a code links the account.
func TestAKeyWithoutPairHearsNoCode(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	listen := func(scopes, events string) *http.Response {
		key := r.newKey(`{"name":"k","instances":["a"],"scopes":[` + scopes + `]}`).Key
		return do(r.h, handshakeOf("/ws/instance/events?event="+events, func(h http.Header) { h.Set("Authorization", "Bearer "+key) }))
	}
	but := len(rest.EventKinds(event.Instance)) - 1
	for events, most := range map[string]int{"*": but, "qrcode.updated,*": but, "messages.upsert": 1} {
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

// TestKeyWithoutReadForwardsNothingStored, by quoting, by forwarding and by a batch: the answer and the message would
// show what it may not read.
func TestKeyWithoutReadForwardsNothingStored(t *testing.T) {
	r, _, _ := doing(t)
	chat := rest.ExampleJID
	stored := r.keep(t, event.Message{KeyID: rest.ExampleKeyID, KeyRemoteJID: &chat, MessageType: "conversation", Content: []byte(`{"text":"secret"}`)})
	quote := fmt.Sprintf(`{"number":"4915112345678","textMessage":{"text":"x"},"options":{"quotedMessageId":%d}}`, stored)
	forward := fmt.Sprintf(`{"number":"4915112345678","messageId":%d}`, stored)
	aBatch := fmt.Sprintf(`{"name":"n","instances":["a"],"recipients":["4915112345678"],"message":{"type":"text","payload":{"text":"x"}},"autoStart":false,"options":{"quotedMessageId":%d}}`, stored)
	for path, body := range map[string]string{"/instance/a/send/text": quote, "/instance/a/send/forward": forward, "/message/batches": aBatch} {
		for scopes, may := range map[string]bool{`"send","batch"`: false, `"send","batch","read"`: true} {
			key := r.newKey(`{"name":"k","instances":["a"],"scopes":[` + scopes + `],"userId":"` + rest.ExampleUUID + `"}`).Key
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

// TestKeyWithoutReadControlsNoStoredMessage: a batch of another key that quotes or forwards is started, scheduled, repeated and
// sent to more people by keys only that could have made it.
func TestKeyWithoutReadControlsNoStoredMessage(t *testing.T) {
	r, _, _ := doing(t)
	chat := rest.ExampleJID
	stored := r.keep(t, event.Message{KeyID: rest.ExampleKeyID, KeyRemoteJID: &chat, MessageType: "conversation", Content: []byte(`{"text":"secret"}`)})
	for _, of := range []string{
		fmt.Sprintf(`"message":{"type":"text","payload":{"text":"x"}},"options":{"quotedMessageId":%d}`, stored),
		fmt.Sprintf(`"message":{"type":"forward","payload":{"messageId":%d}}`, stored),
		fmt.Sprintf(`"message":[{"type":"text","payload":{"text":"x"}},{"type":"forward","payload":{"messageId":%d}}]`, stored),
	} {
		path := "/message/batches/" + decoded[batch.View](t, r.with(r.token, "POST", "/message/batches", `{"name":"n","instances":["a"],"recipients":["4915112345678"],"autoStart":false,`+of+`}`)).ID.String()
		for _, call := range [][3]string{
			{"PATCH", "", `{"name":"other"}`},
			{"POST", "/recipients", `{"recipients":["4915112345679"]}`},
			{"POST", "/start", ""},
			{"POST", "/retry", `{"status":["PENDING"]}`},
		} {
			for _, scopes := range []string{`"send","batch"`, `"batch","read"`} {
				key := r.newKey(`{"name":"k","instances":["a"],"scopes":[` + scopes + `],"userId":"` + r.user.String() + `"}`).Key
				res := r.with(key, call[0], path+call[1], call[2])
				if scopes == `"send","batch"` {
					wantError(t, res, 403, "SCOPE")
				} else if res.StatusCode >= 300 && res.StatusCode != 409 { // there is nothing to retry yet
					t.Errorf("%s of a batch with %s: %s %s", call[:2], of, res.Status, text(t, res))
				}
			}
		}
	}
}

// TestForeignInstancesBatchIsNotTheKeys: every route of a batch answers 404, and the batch is in no list, in no event and
// not sent to the console. For the user's other keys it is. A batch that an instance of the key also sends can be read, but
// not changed.
func TestForeignInstancesBatchIsNotTheKeys(t *testing.T) {
	r, _, _ := doing(t)
	r.instance("b")
	made := func(instances string) uuid.UUID {
		return decoded[batch.View](t, r.with(r.token, "POST", "/message/batches",
			`{"name":"x","instances":`+instances+`,"recipients":["4915112345678"],"autoStart":false,"message":{"type":"text","payload":{"text":"x"}}}`)).ID
	}
	own, others, mixed := made(`["a"]`), made(`["b"]`), made(`["a","b"]`)
	key := func(instances string) string {
		return r.newKey(`{"name":"k","instances":` + instances + `,"scopes":["batch","read"],"userId":"` + r.user.String() + `"}`).Key
	}
	narrow, wide, everywhere := key(`["a"]`), key(`["a","b"]`), key(`["*"]`)

	tried := 0
	for _, row := range routes() {
		if row.Auth != rest.UserBearer || !strings.Contains(row.Path, "{id}") {
			continue
		}
		tried++
		ask := func(id uuid.UUID) *http.Response {
			return r.with(narrow, row.Method, strings.NewReplacer("{id}", id.String(), "{item}", rest.ExampleUUID).Replace(row.Path), "")
		}
		wantError(t, ask(others), 404, "BATCH_NOT_FOUND")
		switch {
		case row.Method != "GET":
			wantError(t, ask(mixed), 403, "SCOPE")
		case !strings.Contains(row.Path, "{item}"):
			if res := ask(mixed); res.StatusCode != 200 {
				t.Errorf("%s: %s", row.Path, res.Status)
			}
		}
	}
	if tried < 10 {
		t.Errorf("%d routes", tried)
	}
	for _, k := range []string{narrow, wide, everywhere} {
		if res := r.with(k, "GET", "/message/batches/"+own.String(), ""); res.StatusCode != 200 {
			t.Errorf("its own: %s", res.Status)
		}
		wantError(t, r.with(k, "GET", "/message/batches/"+rest.ExampleUUID, ""), 404, "BATCH_NOT_FOUND")
		wantError(t, r.with(k, "GET", "/message/batches/nothing", ""), 404, "BATCH_NOT_FOUND")
	}

	for k, want := range map[string][]uuid.UUID{narrow: {own, mixed}, wide: {own, others, mixed}, everywhere: {own, others, mixed}} {
		for _, list := range []*http.Response{r.with(k, "GET", "/message/batches", ""), r.with(k, "POST", "/message/batches/list", `{"limit":5}`)} {
			got := decoded[batch.List[batch.View]](t, list)
			if len(got.Records) != len(want) || got.TotalRecords != len(want) {
				t.Errorf("%d of %d batches, want %d", len(got.Records), got.TotalRecords, len(want))
			}
		}
		bearer := func(h http.Header) { h.Set("Authorization", "Bearer "+k) }
		if res := do(r.h, handshakeOf("/ws/global/events?event=*", bearer)); res.StatusCode != 101 {
			t.Fatal(res.Status)
		}
		tells := r.hub.stream.Tells
		if res := do(r.h, handshakeOf("/ws/console", bearer)); res.StatusCode != 101 {
			t.Fatal(res.Status)
		}
		for _, id := range []uuid.UUID{own, others, mixed} {
			want := slices.Contains(want, id)
			for _, body := range []string{`{"event":"message.batch.created","data":{"batch":{"id":%q}}}`, `{"event":"message.batch.item.failed","data":{"batchId":%q}}`} {
				if got := tells == nil || tells(fmt.Appendf(nil, body, id)) != nil; got != want {
					t.Errorf("%s is sent: %v, want %v", body, got, want)
				}
			}
			if got := r.hub.viewer.Batch(r.user, id); got != want {
				t.Errorf("the console gets it: %v, want %v", got, want)
			}
		}
		if tells != nil && tells([]byte(`{"data":{"batch":{"id":"`+rest.ExampleUUID+`"}}}`)) != nil {
			t.Error("a deleted batch is sent")
		}
		if !r.hub.viewer.Batch(r.user, uuid.New()) || r.hub.viewer.Batch(uuid.New(), own) {
			t.Error("the console does not get the deletion, or gets another user's")
		}
	}
}

// TestKeyWithoutPairSeesNoPairingCode: neither the body of a delivery nor the receiver's answer; it sees the rest of the
// record, and other deliveries.
func TestKeyWithoutPairSeesNoPairingCode(t *testing.T) {
	r := newRig(t)
	r.resolve = func(delivery.Lane) (event.Destination, delivery.Status) { return toWebhook, delivery.Ready }
	token := r.instance("a")
	const secret = "2@the-code"
	for _, kind := range []event.Kind{event.QRCodeUpdated, event.MessagesUpsert} {
		n := aboutEvent{}.notice(1)
		n.Kind, n.Body = kind, []byte(`{"data":{"code":"`+secret+`"}}`)
		r.inLog(n, toWebhook, delivery.Failed, delivery.Attempt{Status: 500, Error: "receiver answered 500", Answer: "cannot take " + secret})
	}
	for _, c := range []struct{ scopes, credential, base string }{
		{`"deliveries"`, "", "/instance/a/webhook/deliveries"},
		{`"deliveries","read","webhook","manage","send"`, "", "/instance/a/webhook/deliveries"},
		{`"deliveries"`, "", "/webhook/deliveries"},
		{`"deliveries","pair"`, "", "/instance/a/webhook/deliveries"},
		{`"deliveries","pair"`, "", "/webhook/deliveries"},
		{"", token, "/instance/a/webhook/deliveries"},
	} {
		credential, may := c.credential, !strings.HasPrefix(c.scopes, `"deliveries"`) || strings.Contains(c.scopes, "pair")
		if credential == "" {
			credential = r.newKey(`{"name":"k","instances":["*"],"scopes":[` + c.scopes + `]}`).Key
		}
		list := r.with(credential, "GET", c.base, "")
		all := text(t, list)
		if list.StatusCode != 200 || strings.Contains(all, secret) {
			t.Errorf("%s %s lists %s %s", c.scopes, c.base, list.Status, all)
		}
		var page batch.List[deliveries.DeliveryRecord]
		if err := json.Unmarshal([]byte(all), &page); err != nil || len(page.Records) != 2 {
			t.Fatalf("%v, %s", err, all)
		}
		for _, rec := range page.Records {
			one := decoded[deliveries.DeliveryDetails](t, r.with(credential, "GET", fmt.Sprintf("%s/%d", c.base, rec.ID), ""))
			shown := may || rec.Event != event.QRCodeUpdated
			if (one.Body != nil) != shown || len(one.Attempts) != 1 || (one.Attempts[0].Answer != nil) != shown || *one.Attempts[0].Status != 500 || !one.Replayable {
				t.Errorf("%s %s: %s is %+v", c.scopes, c.base, rec.Event, one)
			}
		}
	}
}

// TestKeyWithoutPairSendsNoCodesElsewhere, because a code links the account. The refusal names what the
// key may not do, and changes nothing.
func TestKeyWithoutPairSendsNoCodesElsewhere(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	hooks, both := r.newKey(`{"name":"k","instances":["a"],"scopes":["webhook","deliveries","read","send","manage"]}`).Key, r.newKey(`{"name":"k","instances":["a"],"scopes":["webhook","pair"]}`).Key
	const path, options = "/instance/a/webhook", "/instance/a/webhook/options"
	endpoint := func(id, url, events string) string {
		return `{"endpoints":[{"id":"` + id + `","url":"` + url + `","events":{` + events + `}}]}`
	}
	kept := func() string {
		hook, _ := r.registry.Webhooks().Webhook(1)
		o, err := r.registry.Webhooks().Options(1)
		return fmt.Sprint(hook, o, err)
	}
	for _, c := range []struct {
		who, path, body string
		refused         bool
	}{
		{hooks, path, `{"url":"http://a.example/1","events":{"qrcodeUpdated":true}}`, true},
		{hooks, path, `{"url":"http://a.example/1","events":{"messagesUpsert":true,"qrcodeUpdated":false}}`, false},
		{hooks, path, `{"events":{"qrcodeUpdated":true}}`, true},
		{token, path, `{"events":{"qrcodeUpdated":true}}`, false},
		{hooks, path, `{"enabled":false}`, false}, // what the owner chose stays
		{hooks, path, `{"url":"http://a.example/1","events":{"qrcodeUpdated":true,"sendMessage":true}}`, false},
		{hooks, path, `{"url":"http://thief.example/"}`, true},
		{hooks, "/webhook/set/a", `{"url":"http://thief.example/"}`, true},
		{both, path, `{"url":"http://b.example/"}`, false},
		{hooks, path, `{"url":"http://c.example/","events":{}}`, false},
		{hooks, options, endpoint("crm", "http://a.example/1", `"qrcodeUpdated":true`), true},
		{hooks, options, endpoint("crm", "http://a.example/1", `"messagesUpsert":true`), false},
		{hooks, options, endpoint("crm", "http://a.example/1", `"qrcodeUpdated":true`), true},
		{both, options, endpoint("crm", "http://a.example/1", `"qrcodeUpdated":true`), false},
		{hooks, options, endpoint("crm", "http://a.example/1", `"qrcodeUpdated":true,"sendMessage":true`), false},
		{hooks, options, endpoint("crm", "http://thief.example/", `"qrcodeUpdated":true`), true},
		{hooks, options, endpoint("erp", "http://a.example/1", `"qrcodeUpdated":true`), true},
		{hooks, options, endpoint("crm", "http://thief.example/", `"sendMessage":true`), false},
	} {
		before := kept()
		res := r.with(c.who, "PUT", c.path, c.body)
		if !c.refused {
			if res.StatusCode != 200 {
				t.Errorf("%s: %s %s", c.body, res.Status, text(t, res))
			}
			continue
		}
		if e := wantError(t, res, 403, "SCOPE"); !strings.Contains(e.Messages[0], "pair") || !strings.Contains(e.Messages[0], "qrcodeUpdated") {
			t.Errorf("%s: %q", c.body, e.Messages)
		}
		if after := kept(); after != before {
			t.Errorf("%s changed %s to %s", c.body, before, after)
		}
	}
}
