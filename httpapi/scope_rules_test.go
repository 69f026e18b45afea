package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/access"
	"postern/batch"
	"postern/event"
	"postern/httpapi/instances"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/media"
)

// newKey makes a scoped key over the interface.
func (r *rig) newKey(body string) operator.CreatedKey {
	r.t.Helper()
	res := r.admin("POST", "/keys", body)
	if res.StatusCode != http.StatusCreated {
		r.t.Fatalf("POST /keys %s: %s", body, res.Status)
	}
	return decoded[operator.CreatedKey](r.t, res)
}

// with sends a request with a scoped key as a Bearer.
func (r *rig) with(key, method, path, body string) *http.Response {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+key)
	return do(r.h, req)
}

// contractScopes is what the contract says a route needs, by how its path goes on
// behind the instance; the first row that fits counts. Empty: no scoped key opens it.
var contractScopes = []struct{ method, path, scopes string }{
	{"GET", "/instance", "read"},
	{"POST", "/instance", "manage"},
	{"", "/webhook/deliveries", "deliveries"},
	{"", "/webhook/replays", "deliveries"},
	{"GET", "/metrics", "metrics"},
	{"", "/session", "any"},
	{"", "/ws/console", "read"},
	{"", "/message/batches", "batch"},
	{"", "/ws/global/events", "batch"},
	{"", "/ws/instance/events", "read"},
	{"", "/instance/{i}/refreshToken", ""},
	{"", "/instance/{i}/token", ""},
	{"", "/instance/{i}/export", ""},
	{"GET", "/instance/{i}/connection/status", "read pair"},
	{"", "/instance/{i}/connect", "pair"},
	{"", "/instance/{i}/qr.png", "pair"},
	{"", "/instance/{i}/portal-link", "pair"},
	{"", "/instance/{i}/webhook/deliveries", "deliveries"},
	{"", "/instance/{i}/webhook/replays", "deliveries"},
	{"", "/instance/{i}/webhook", "webhook"},
	{"", "/instance/{i}/media", "media"},
	{"", "/instance/{i}/upload", "media"},
	{"", "/instance/{i}/logout", "manage"},
	{"", "/instance/{i}/restart", "manage"},
	{"", "/instance/{i}/app-state", "manage"},
	{"", "/instance/{i}/proxy", "manage"},
	{"GET", "/instance/{i}/limits", "read manage"},
	{"", "/instance/{i}/limits", "manage"},
	{"GET", "/instance/{i}/settings", "read manage"},
	{"", "/instance/{i}/settings", "manage"},
	{"", "/instance/{i}/db/", "read"},
	{"", "/instance/{i}/chat/profile-picture", "read"},
	{"", "/instance/{i}/chat/history", "read"},
	{"GET", "/instance/{i}", "read"},
	{"DELETE", "/instance/{i}\x00", "manage"},
	{"", "/instance/{i}/", "send"},
}

func contractScope(method, path string) []string {
	for _, row := range contractScopes {
		exact := row.path == "/instance" || row.path == "/metrics"
		if (row.method == "" || row.method == method) && (path == row.path || !exact && strings.HasPrefix(path+"\x00", row.path)) {
			return strings.Fields(row.scopes)
		}
	}
	return nil
}

// TestEveryRouteOpensToItsScopeAndToNoOther walks each route with a key of each
// scope: for the right instance, for another one, expired and deleted.
func TestEveryRouteOpensToItsScopeAndToNoOther(t *testing.T) {
	r := newRig(t)
	r.instance("some-instance")
	r.instance("other")
	keys := map[access.Scope]operator.CreatedKey{}
	wide := map[access.Scope]string{}
	for _, s := range access.Scopes() {
		body := fmt.Sprintf(`{"name":"k","instances":["some-instance"],"scopes":[%q],"userId":%q}`, s, rest.ExampleUUID)
		keys[s] = r.newKey(body)
		wide[s] = r.newKey(strings.Replace(body, "some-instance", "*", 1)).Key
	}
	elsewhere := r.newKey(`{"name":"k","instances":["other"],"scopes":["read","send","manage","pair","webhook","metrics","media","deliveries"]}`).Key
	deleted := r.newKey(`{"name":"k","instances":["*"],"scopes":["read","send","manage","pair","webhook","metrics","media","deliveries"]}`)
	if res := r.admin("DELETE", "/keys/"+deleted.ID.String(), ""); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	for _, row := range Routes() {
		if row.Auth == AuthNone || row.Auth == AuthLink {
			continue
		}
		path := concrete(row.Path)
		switch {
		case row.Auth == AuthHandshake:
			path += "?event=*"
		case row.Method == http.MethodDelete && row.Path == "/instance/{i}": // it is needed on the way
			path += "?nothingOfThatName=1"
		}
		want := contractScope(row.Method, row.Path)
		ask := func(key string) (status int, code string) {
			req := httptest.NewRequest(row.Method, path, strings.NewReader(`{"nothingOfThatName":1}`))
			if row.Auth == AuthHandshake {
				req = handshakeOf(path, nil)
			}
			req.Header.Set("Authorization", "Bearer "+key)
			res := do(r.h, req)
			if res.StatusCode < 400 {
				return res.StatusCode, ""
			}
			var e rest.ErrorBody
			if err := json.NewDecoder(res.Body).Decode(&e); err != nil {
				t.Fatal(err)
			}
			return res.StatusCode, e.Code
		}
		refused := func(key string) bool { status, code := ask(key); return status == 403 && code == "SCOPE" }
		for _, s := range access.Scopes() {
			allowed := slices.Contains(want, string(s)) || slices.Contains(want, "any")
			if got := !refused(wide[s]); got != allowed {
				t.Errorf("%s %s opens to a key of all instances with the scope %s: %v, want %v", row.Method, row.Path, s, got, allowed)
			}
			all := row.Path == "/instance" && row.Method == "POST" || strings.HasPrefix(row.Path, "/webhook/")
			if got := !refused(keys[s].Key); got != (allowed && !all) {
				t.Errorf("%s %s opens to a key of one instance with the scope %s: %v, want %v", row.Method, row.Path, s, got, allowed && !all)
			}
		}
		if strings.HasPrefix(row.Path, "/instance/{i}") && !refused(elsewhere) {
			t.Errorf("%s %s opens to a key of another instance", row.Method, row.Path)
		}
		if status, _ := ask(deleted.Key); status != 401 {
			t.Errorf("%s %s answers %d to a deleted key", row.Method, row.Path, status)
		}
	}
}

// TestARefusalNamesTheScope, of a wrong scope and of a wrong instance.
func TestARefusalNamesTheScope(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	for scope, path := range map[string]string{"read": "/instance/a/send/text", "send": "/instance/b/send/text"} {
		key := r.newKey(`{"name":"k","instances":["a"],"scopes":["` + scope + `"]}`).Key
		e := wantError(t, r.with(key, "POST", path, `{}`), 403, "SCOPE")
		if !strings.Contains(e.Messages[0], "scope send") {
			t.Errorf("message %q", e.Messages[0])
		}
	}
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["batch"],"userId":"` + rest.ExampleUUID + `"}`).Key
	if e := wantError(t, r.with(key, "POST", "/message/batches", batchBody("instances", `["b"]`)), 403, "SCOPE"); !strings.Contains(e.Messages[0], "scope batch") {
		t.Errorf("message %q", e.Messages[0])
	}
}

// TestADeletedKeyIsShownOnceMoreWithoutItsText
func TestADeletedKeyIsShownOnceMoreWithoutItsText(t *testing.T) {
	r := newRig(t)
	k := r.newKey(`{"name":"k","instances":["*"],"scopes":["read"]}`)
	res := r.admin("DELETE", "/keys/"+k.ID.String(), "")
	body := text(t, res)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, k.ID.String()) || strings.Contains(body, k.Key) {
		t.Errorf("%s %s", res.Status, body)
	}
	wantError(t, r.admin("DELETE", "/keys/"+k.ID.String(), ""), 404, "KEY_NOT_FOUND")
	wantError(t, r.admin("GET", "/keys/"+k.ID.String(), ""), 404, "KEY_NOT_FOUND")
}

// TestASocketOfAnInstanceNamesItUnlessTheKeyHasExactlyOne
func TestASocketOfAnInstanceNamesItUnlessTheKeyHasExactlyOne(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	r.instance("c")
	for _, c := range []struct {
		instances, query string
		status           int
		code             string
	}{
		{`["a"]`, "", 101, ""},
		{`["a"]`, "&instance=a", 101, ""},
		{`["a"]`, "&instance=b", 403, "SCOPE"},
		{`["a","b"]`, "", 400, "INVALID_SUBSCRIPTION"},
		{`["a","b"]`, "&instance=b", 101, ""},
		{`["a","b"]`, "&instance=c", 403, "SCOPE"},
		{`["*"]`, "", 400, "INVALID_SUBSCRIPTION"},
		{`["*"]`, "&instance=c", 101, ""},
		{`["*"]`, "&instance=nobody", 404, "INSTANCE_NOT_FOUND"},
	} {
		key := r.newKey(`{"name":"k","instances":` + c.instances + `,"scopes":["read"]}`).Key
		res := do(r.h, handshakeOf("/ws/instance/events?event=*"+c.query, func(h http.Header) { h.Set("Authorization", "Bearer "+key) }))
		if c.code != "" {
			wantError(t, res, c.status, c.code)
		} else if res.StatusCode != c.status {
			t.Errorf("%s %q: %s", c.instances, c.query, res.Status)
		}
	}
}

// TestTheDocumentShowsTheScopeOfEachRoute as security: [{"ScopedKey": ["send"]}].
func TestTheDocumentShowsTheScopeOfEachRoute(t *testing.T) {
	raw, err := OpenAPI("", "test")
	var doc object
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range Routes() {
		op, ok := at(doc, "paths", documentPath(row.Path), strings.ToLower(row.Method)).(object)
		if !ok {
			t.Errorf("%s %s is not in the document", row.Method, row.Path)
			continue
		}
		var shown []string
		for _, alternative := range op["security"].([]any) {
			if scopes, ok := alternative.(object)["ScopedKey"].([]any); ok {
				if len(scopes) == 0 {
					shown = append(shown, "any")
				}
				for _, s := range scopes {
					shown = append(shown, s.(string))
				}
			}
		}
		if want := contractScope(row.Method, row.Path); row.Auth != AuthNone && row.Auth != AuthLink && !slices.Equal(shown, want) {
			t.Errorf("%s %s shows %v, want %v", row.Method, row.Path, shown, want)
		}
	}
}

// TestAnExpiredKeyIs401
func TestAnExpiredKeyIs401(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	k := access.Key{Name: "k", Scopes: []access.Scope{access.Read}, ExpiresAt: time.Now().Add(50 * time.Millisecond)}
	_, text, err := r.api.Server.Access.Keys.Create(t.Context(), k, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res := r.with(text, "GET", "/instance/a", ""); res.StatusCode != 200 {
		t.Fatalf("before its end: %s", res.Status)
	}
	<-time.After(time.Until(k.ExpiresAt))
	wantError(t, r.with(text, "GET", "/instance/a", ""), 401, "UNAUTHORIZED")
}

// TestAKeySeesItsInstancesWithoutTokens
func TestAKeySeesItsInstancesWithoutTokens(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"a", "b", "c"} {
		r.instance(name)
	}
	key := r.newKey(`{"name":"k","instances":["a","c"],"scopes":["read"]}`).Key
	var names []string
	for _, in := range decoded[[]instances.ListedInstance](t, r.with(key, "GET", "/instance", "")) {
		names = append(names, in.Name)
		if in.Auth != nil {
			t.Errorf("%s comes with its token", in.Name)
		}
	}
	if !slices.Equal(names, []string{"a", "c"}) {
		t.Errorf("it sees %v", names)
	}
	wide := r.newKey(`{"name":"k","instances":["*"],"scopes":["manage"]}`).Key
	if created := decoded[instances.CreatedInstance](t, r.with(wide, "POST", "/instance", `{"instanceName":"d"}`)); created.Name != "d" || created.Auth != nil {
		t.Errorf("created %+v", created)
	}
}

// TestAKeyWithoutWebhookSeesNoAddress: GET /instance/{i}/webhook is not for it, and what
// shows the instance tells no more.
func TestAKeyWithoutWebhookSeesNoAddress(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	if res := r.with(token, "PUT", "/instance/a/webhook", `{"url":"https://example.org/hook?secret=1"}`); res.StatusCode != 200 && res.StatusCode != 201 {
		t.Fatal(res.Status)
	}
	for scopes, sees := range map[string]bool{`["read"]`: false, `["read","webhook"]`: true} {
		key := r.newKey(`{"name":"k","instances":["a"],"scopes":` + scopes + `}`).Key
		all := decoded[[]instances.ListedInstance](t, r.with(key, "GET", "/instance", ""))
		one := decoded[instances.ShownInstance](t, r.with(key, "GET", "/instance/a", ""))
		if len(all) != 1 || (all[0].Webhook != nil) != sees || (one.Webhook != nil) != sees {
			t.Errorf("%s: %+v and %+v", scopes, all, one)
		}
		if res := do(r.h, handshakeOf("/ws/console", func(h http.Header) { h.Set("Authorization", "Bearer "+key) })); res.StatusCode != 101 || r.hub.viewer.Webhooks != sees {
			t.Errorf("%s: %s, and changes are sent to %+v", scopes, res.Status, r.hub.viewer)
		}
	}
}

// TestAnInstanceOfTheSameNameIsAnother: a key for the deleted instance is not valid
// for a new one of the same name.
func TestAnInstanceOfTheSameNameIsAnother(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"]}`).Key
	if res := r.with(token, "DELETE", "/instance/a", ""); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	wantError(t, r.with(key, "GET", "/instance/a", ""), 403, "SCOPE")
	r.instance("a")
	wantError(t, r.with(key, "GET", "/instance/a", ""), 403, "SCOPE")
}

// TestAKeyIsTakenInApikeyToo, and two that differ are none.
func TestAKeyIsTakenInApikeyToo(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"]}`).Key
	ask := func(headers ...string) *http.Response {
		req := httptest.NewRequest("GET", "/instance/a", nil)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Add(headers[i], headers[i+1])
		}
		return do(r.h, req)
	}
	for _, header := range []string{"apikey", "x-api-key"} {
		if res := ask(header, key); res.StatusCode != 200 {
			t.Errorf("%s: %s", header, res.Status)
		}
	}
	if res := ask("Authorization", "Bearer "+key, "apikey", testKey); res.StatusCode != 200 {
		t.Errorf("beside the GlobalApiKey, which opens no instance: %s", res.Status)
	}
	wantError(t, ask("apikey", key, "x-api-key", key+"x"), 400, "API_KEY_MISMATCH")
	wantError(t, ask("apikey", key[:len(key)-1]+"!"), 401, "UNAUTHORIZED")
}

// TestTheGlobalKeyOpensInstancesWhereThatIsSet, and nowhere else.
func TestTheGlobalKeyOpensInstancesWhereThatIsSet(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	wantError(t, r.admin("GET", "/instance/a", ""), 401, "UNAUTHORIZED")
	r.api.Server.KeyOpensInstances = true
	if res := r.admin("GET", "/instance/a", ""); res.StatusCode != 200 {
		t.Errorf("%s", res.Status)
	}
	wantError(t, r.admin("GET", "/instance/nobody", ""), 404, "INSTANCE_NOT_FOUND")
}

// TestRecipientsHold: nothing is sent to anybody else, by whatever route.
func TestRecipientsHold(t *testing.T) {
	r, _, _ := doing(t)
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["send","batch"],"userId":"` + rest.ExampleUUID + `","recipients":["+49 151 12345678"]}`).Key
	if res := r.with(key, "POST", "/instance/a/send/text", `{"number":"4915112345678","textMessage":{"text":"x"}}`); res.StatusCode == 403 {
		t.Errorf("to its recipient: %s", text(t, res))
	}
	for path, body := range map[string]string{
		"/instance/a/send/text":   `{"number":"4915199999999","textMessage":{"text":"x"}}`,
		"/instance/a/send/status": `{"statusMessage":{"text":"x"}}`,

		"/instance/a/notify?to=4915199999999": `{"message":"x"}`,
		"/instance/a/chat/presence":           `{"presence":"composing","chat":"4915199999999"}`,
		"/instance/a/chat/is-account":         `{"numbers":["4915112345678","4915199999999"]}`,
		"/instance/a/group":                   `{"subject":"x","participants":["4915112345678"]}`,
		"/message/batches":                    `{"name":"x","instances":["a"],"recipients":["4915112345678","4915199999999"],"message":{"type":"text","payload":{"text":"x"}}}`,
	} {
		wantError(t, r.with(key, "POST", path, body), 403, "RECIPIENT_NOT_ALLOWED")
	}
}

// TestKeyWithRecipientsCannotSetCallReply; one that is there stays as it is.
func TestKeyWithRecipientsCannotSetCallReply(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["manage"],"recipients":["4915112345678"]}`).Key
	const path, answering = "/instance/a/settings", `{"rejectCalls":{"enabled":true,"message":"x"}}`
	wantError(t, r.with(key, "PUT", path, answering), 403, "RECIPIENT_NOT_ALLOWED")
	if s, err := r.registry.Settings(1); err != nil || s.RejectCalls.Enabled {
		t.Errorf("%+v, %v", s, err)
	}
	for _, c := range []struct{ credential, body string }{
		{token, answering},
		{key, `{"alwaysOnline":true,"rejectCalls":{"enabled":true,"message":"x"}}`},
		{key, `{"rejectCalls":{"enabled":true}}`},
	} {
		if res := r.with(c.credential, "PUT", path, c.body); res.StatusCode != 200 {
			t.Errorf("%s: %s", c.body, res.Status)
		}
	}
}

// TestABatchOfAKeyTakesUploadsOfItsInstancesOnly: of the others it does not even learn
// whether there are any. A user's may take those of all.
func TestABatchOfAKeyTakesUploadsOfItsInstancesOnly(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	keep := func(instance int64) media.Upload {
		u, err := r.media.Keep(t.Context(), instance, event.Uploaded{
			MediaInfo: event.MediaInfo{Kind: event.MediaImage}, DirectPath: "/v/1", UploadedAt: event.At(time.Now()),
		}, media.Tags{})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	own, others := keep(1), keep(2)
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["batch","media"],"userId":"` + r.user.String() + `"}`).Key
	create := func(credential, upload string) *http.Response {
		return r.with(credential, "POST", "/message/batches", `{"name":"x","instances":["a"],"recipients":["4915112345678"],"autoStart":false,
			"message":{"type":"media","payload":{"mediatype":"image","mediaUploadId":`+upload+`}}}`)
	}
	number := func(u media.Upload) string { return fmt.Sprint(u.Number) }
	uuid := func(u media.Upload) string { return `"` + u.ID.String() + `"` }
	for _, id := range []func(media.Upload) string{number, uuid} {
		there := wantError(t, create(key, id(others)), 422, "INVALID_MEDIA")
		if none := wantError(t, create(key, "4711"), 422, "INVALID_MEDIA"); !slices.Equal(there.Messages, none.Messages) {
			t.Errorf("%q tells more than %q", there.Messages, none.Messages)
		}
		if res := create(key, id(own)); res.StatusCode != 201 {
			t.Errorf("its own: %s %s", res.Status, text(t, res))
		}
		made := decoded[batch.View](t, create(r.token, id(others)))
		wantError(t, r.with(key, "POST", "/message/batches/"+made.ID.String()+"/start", ""), 422, "INVALID_MEDIA")
	}
}

// TestUploadsByIDNeedMedia wherever an id of an upload is taken, whether or not there is
// such an upload.
func TestUploadsByIDNeedMedia(t *testing.T) {
	r, _, _ := doing(t)
	u, err := r.media.Keep(t.Context(), 1, event.Uploaded{
		MediaInfo: event.MediaInfo{Kind: event.MediaImage}, DirectPath: "/v/1", UploadedAt: event.At(time.Now()),
	}, media.Tags{})
	if err != nil {
		t.Fatal(err)
	}
	scoped := func(more string) string {
		return r.newKey(`{"name":"k","instances":["*"],"scopes":["send","read","batch"` + more + `],"userId":"` + r.user.String() + `"}`).Key
	}
	without, full := scoped(""), scoped(`,"media"`)
	batchOf := func(credential string) string {
		body := `{"name":"x","instances":["a"],"recipients":["4915112345678"],"autoStart":false,"message":{"type":"media","payload":{"mediatype":"image","mediaUploadId":"` + u.ID.String() + `"}}}`
		return decoded[batch.View](t, r.with(credential, "POST", "/message/batches", body)).ID.String()
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/instance/a/send/media", `{"number":"4915112345678","mediaMessage":{"mediatype":"image","mediaUploadId":ID}}`},
		{"POST", "/instance/a/send/media", `{"number":"4915112345678","mediaMessage":{"mediatype":"image"},"mediaUploadId":ID}`},
		{"POST", "/message/sendMedia/a", `{"number":"4915112345678","mediaMessage":{"mediatype":"image","mediaUploadId":ID}}`},
		{"POST", "/instance/a/send/ptt", `{"number":"4915112345678","audioMessage":{"mediaUploadId":ID}}`},
		{"POST", "/instance/a/send/sticker", `{"number":"4915112345678","stickerMessage":{"mediaUploadId":ID}}`},
		{"PUT", "/instance/a/group/update-picture", `{"groupJid":"1-2@g.us","mediaUploadId":ID}`},
		{"POST", "/message/batches", `{"name":"x","instances":["a"],"recipients":["4915112345678"],"autoStart":false,"message":{"type":"media","payload":{"mediatype":"image","mediaUploadId":ID}}}`},
		{"POST", "/message/batches/" + batchOf(full) + "/start", ``},
	} {
		var answers []string
		for _, id := range []string{`"` + u.ID.String() + `"`, fmt.Sprint(u.Number), `4711`} {
			body := strings.ReplaceAll(c.body, "ID", id)
			got := wantError(t, r.with(without, c.method, c.path, body), 403, "SCOPE")
			answers = append(answers, strings.Join(got.Messages, " "))
			if res := r.with(full, c.method, c.path, body); res.StatusCode == 403 || res.StatusCode == 400 {
				t.Errorf("%s %s with media: %s %s", c.method, c.path, res.Status, text(t, res))
			}
		}
		if len(slices.Compact(answers)) != 1 {
			t.Errorf("%s %s: %q", c.method, c.path, answers)
		}
	}
}

// TestAKeyStartsNoBatchThatItCouldNotHaveMade: somebody else of the same user may
// have made it.
func TestAKeyStartsNoBatchThatItCouldNotHaveMade(t *testing.T) {
	r, _, _ := doing(t)
	r.instance("b")
	body := `{"name":"x","instances":["b"],"recipients":["4915112345678"],"autoStart":false,"message":{"type":"text","payload":{"text":"x"}}}`
	made := decoded[batch.View](t, r.with(r.token, "POST", "/message/batches", body))
	user := `"userId":"` + r.user.String() + `"`
	narrow := r.newKey(`{"name":"k","instances":["a"],"scopes":["batch"],` + user + `}`).Key
	wantError(t, r.with(narrow, "POST", "/message/batches", body), 403, "SCOPE")
	wantError(t, r.with(narrow, "POST", "/message/batches/"+made.ID.String()+"/start", ""), 404, "BATCH_NOT_FOUND")
	few := r.newKey(`{"name":"k","instances":["*"],"scopes":["batch"],"recipients":["4915199999999"],` + user + `}`).Key
	wantError(t, r.with(few, "POST", "/message/batches/"+made.ID.String()+"/start", ""), 403, "RECIPIENT_NOT_ALLOWED")
	wide := r.newKey(`{"name":"k","instances":["b"],"scopes":["batch"],"recipients":["4915112345678"],` + user + `}`).Key
	if res := r.with(wide, "POST", "/message/batches/"+made.ID.String()+"/start", ""); res.StatusCode != 200 {
		t.Errorf("%s %s", res.Status, text(t, res))
	}
}

// TestARateLimitHolds
func TestARateLimitHolds(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"],"rateLimit":{"perMinute":3}}`).Key
	for range 3 {
		if res := r.with(key, "GET", "/instance/a", ""); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	res := r.with(key, "GET", "/instance/a", "")
	wait := res.Header.Get("Retry-After")
	wantError(t, res, 429, "RATE_LIMITED")
	if wait == "" || wait == "0" {
		t.Errorf("Retry-After %q", wait)
	}
}

// TestTwoKeysHaveTheirOwnIdempotencyKeys: none learns what another was answered.
func TestTwoKeysHaveTheirOwnIdempotencyKeys(t *testing.T) {
	r, token, _ := doing(t)
	send := func(key string) string {
		req := httptest.NewRequest("POST", "/instance/a/send/text", strings.NewReader(`{"number":"4915112345678","textMessage":{"text":"x"}}`))
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Idempotency-Key", "one")
		res := do(r.h, req)
		if res.StatusCode != 200 {
			t.Fatalf("%s %s", res.Status, text(t, res))
		}
		return res.Header.Get("Idempotency-Replayed")
	}
	k := `{"name":"k","instances":["a"],"scopes":["send"]}`
	first, second := r.newKey(k).Key, r.newKey(k).Key
	for i, key := range []string{token, first, second} {
		if replayed := send(key); replayed != "" {
			t.Errorf("credential %d gets the answer to another", i)
		}
		if replayed := send(key); replayed != "true" {
			t.Errorf("credential %d does not get its own answer again", i)
		}
	}
}
