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
	"postern/httpapi/instances"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
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

// with sends a request with a scoped key as a Bearer token.
func (r *rig) with(key, method, path, body string) *http.Response {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+key)
	return do(r.h, req)
}

// contractScopes are the scopes that a route needs by the API's contract, by the part of its path after the instance; the
// first matching row counts. Empty: no scoped key opens it.
var contractScopes = []struct{ method, path, scopes string }{
	{"GET", "/instance", "read"},
	{"POST", "/instance", "manage"},
	{"GET", "/troubles", "read"},
	{"GET", "/receivers", "deliveries"},
	{"", "/receivers", "webhook"},
	{"GET", "/instance/{i}/webhook/receivers", "deliveries"},
	{"", "/webhook/deliveries", "deliveries"},
	{"", "/webhook/replays", "deliveries"},
	{"GET", "/metrics", "metrics"},
	{"", "/session", "any"},
	{"", "/ws/console", "read"},
	{"", "/message/batches", "batch"},
	{"", "/optouts", "batch"},
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
	{"", "/instance/{i}/media/revoke-links", "manage"},
	{"DELETE", "/instance/{i}/messages/{id}/media", "manage"},
	{"", "/instance/{i}/messages/{id}/media", "media"},
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
	{"", "/events", ""},
	{"", "/instance/{i}/events", "read"},
	{"", "/instance/{i}/db/", "read"},
	{"", "/instance/{i}/chat/profile-picture", "read"},
	{"", "/instance/{i}/chat/history", "read"},
	{"GET", "/instance/{i}", "read"},
	{"", "/instance/{i}/profile", "manage"},
	{"", "/instance/{i}/privacy", "manage"},
	{"", "/instance/{i}/tags", "manage"},
	{"DELETE", "/instance/{i}/people", "manage"},
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

// TestRoutesOpenOnlyToTheirScope calls each route with a key of each scope: for the right instance, for
// another one, expired and deleted.
func TestRoutesOpenOnlyToTheirScope(t *testing.T) {
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
			all := row.Path == "/instance" && row.Method == "POST" || strings.HasPrefix(row.Path, "/webhook/") ||
				row.Path == "/optouts" && row.Method != "POST" // they are about all instances of the user
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

// TestDeletedKeyIsShownWithoutItsText
func TestDeletedKeyIsShownWithoutItsText(t *testing.T) {
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

// TestSocketNamesItsInstanceUnlessTheKeyDoes
func TestSocketNamesItsInstanceUnlessTheKeyDoes(t *testing.T) {
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
	_, text, err := r.api.Access.Keys.Create(t.Context(), k, nil)
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

// TestAKeyWithoutWebhookSeesNoAddress: GET /instance/{i}/webhook refuses it, and the answers about the instance do not
// contain more.
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
