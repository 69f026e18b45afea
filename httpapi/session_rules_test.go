package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"postern/access"
	"postern/batch"
	"postern/httpapi/instances"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
)

// signedIn is a browser with the cookie of a session.
type signedIn struct {
	r      *rig
	cookie *http.Cookie
	csrf   string
}

func (r *rig) signIn(header, value string) *signedIn {
	r.t.Helper()
	req := httptest.NewRequest("POST", "/session", nil)
	req.Header.Set(header, value)
	res := do(r.h, req)
	cookies := res.Cookies()
	if res.StatusCode != http.StatusCreated || len(cookies) != 1 {
		r.t.Fatalf("POST /session: %s with %d cookies", res.Status, len(cookies))
	}
	return &signedIn{r, cookies[0], decoded[operator.BegunSession](r.t, res).CSRF}
}

func (s *signedIn) ask(method, path, body string, edit ...func(http.Header)) *http.Response {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.AddCookie(s.cookie)
	if method != "GET" {
		req.Header.Set("X-Postern-Csrf", s.csrf)
	}
	for _, change := range edit {
		change(req.Header)
	}
	return do(s.r.h, req)
}

// TestTheCookieOfASession is HttpOnly and SameSite=Strict, and lasts twelve hours.
func TestTheCookieOfASession(t *testing.T) {
	r := newRig(t)
	c := r.signIn("apikey", testKey).cookie
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge < 12*3600-5 || c.MaxAge > 12*3600 {
		t.Errorf("cookie %+v", c)
	}
	r.api.BaseURL = "https://postern.example.org"
	if c := r.signIn("apikey", testKey).cookie; !c.Secure {
		t.Errorf("behind HTTPS it is sent in the clear, too: %+v", c)
	}
}

// TestASessionOfTheOperatorOpensEverything: its routes, any instance, and the batches of the named user.
func TestASessionOfTheOperatorOpensEverything(t *testing.T) {
	r, _, _ := doing(t)
	s := r.signIn("apikey", testKey)
	for _, path := range []string{"/instance", "/instance/a", "/keys", "/audit", "/admin/log"} {
		if res := s.ask("GET", path, ""); res.StatusCode != 200 {
			t.Errorf("GET %s: %s", path, res.Status)
		}
	}
	if all := decoded[[]instances.ListedInstance](t, s.ask("GET", "/instance", "")); len(all) != 1 || all[0].Auth != nil {
		t.Errorf("a page has no use for tokens: %+v", all)
	}
	wantError(t, s.ask("GET", "/message/batches", ""), 400, "MISSING_FIELD")
	res := s.ask("GET", "/message/batches", "", func(h http.Header) { h.Set("X-Postern-User", r.user.String()) })
	if list := decoded[batch.List[batch.View]](t, res); list.TotalRecords != 0 {
		t.Errorf("%+v", list)
	}
	if who := decoded[operator.ShownSession](t, s.ask("GET", "/session", "")); !who.Operator || who.Key != nil || who.CSRF != s.csrf {
		t.Errorf("%+v", who)
	}
}

// TestSessionOpensWhatItsKeyDoes and ends with it.
func TestSessionOpensWhatItsKeyDoes(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	k := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"]}`)
	s := r.signIn("Authorization", "Bearer "+k.Key)
	if res := s.ask("GET", "/instance/a", ""); res.StatusCode != 200 {
		t.Errorf("%s", res.Status)
	}
	for _, path := range []string{"/instance/b", "/keys", "/instance/a/webhook"} {
		wantError(t, s.ask("GET", path, ""), 403, "SCOPE")
	}
	if who := decoded[operator.ShownSession](t, s.ask("GET", "/session", "")); who.Operator || who.Key == nil || who.Key.ID != k.ID {
		t.Errorf("%+v", who)
	}
	if res := r.admin("DELETE", "/keys/"+k.ID.String(), ""); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	wantError(t, s.ask("GET", "/instance/a", ""), 401, "UNAUTHORIZED")
}

// TestCookieChangesNeedTheHeader
func TestCookieChangesNeedTheHeader(t *testing.T) {
	r := newRig(t)
	s, other := r.signIn("apikey", testKey), r.signIn("apikey", testKey)
	for name, csrf := range map[string][]string{"none": nil, "empty": {""}, "another session's": {other.csrf}, "twice": {s.csrf, s.csrf}} {
		res := s.ask("POST", "/instance", `{"instanceName":"x"}`, func(h http.Header) {
			h.Del("X-Postern-Csrf")
			h["X-Postern-Csrf"] = csrf
		})
		wantError(t, res, 403, "CSRF")
		if n := len(r.registry.List()); n != 0 {
			t.Fatalf("%s: %d instances were made", name, n)
		}
	}
	if res := s.ask("POST", "/instance", `{"instanceName":"x"}`); res.StatusCode != 201 {
		t.Errorf("with it: %s", res.Status)
	}
}

// TestPairingByGETNeedsTheSessionHeader
func TestPairingByGETNeedsTheSessionHeader(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	s := r.signIn("apikey", testKey)
	for _, path := range []string{
		"/instance/a/connect", "/instance/connect/a", "/instance/a/connect/code/4915112345678", "/instance/connect/a/code/4915112345678", "/instance/a/qr.png",
	} {
		wantError(t, s.ask("GET", path, ""), 403, "CSRF")
		res := s.ask("GET", path, "", func(h http.Header) { h.Set("X-Postern-Csrf", s.csrf) })
		if res.StatusCode == 403 {
			t.Errorf("GET %s with it: %s", path, text(t, res))
		}
	}
	if res := s.ask("GET", "/instance/a/connection/status", ""); res.StatusCode != 200 {
		t.Errorf("what changes nothing: %s", res.Status)
	}
}

// TestASignedOutSessionCannotBeReplayed
func TestASignedOutSessionCannotBeReplayed(t *testing.T) {
	r := newRig(t)
	s := r.signIn("apikey", testKey)
	if res := s.ask("DELETE", "/session", ""); res.StatusCode != 204 || res.Cookies()[0].MaxAge >= 0 {
		t.Fatalf("%s %+v", res.Status, res.Cookies())
	}
	wantError(t, s.ask("GET", "/instance", ""), 401, "UNAUTHORIZED")
	wantError(t, s.ask("DELETE", "/session", ""), 401, "UNAUTHORIZED")
}

// TestASessionIsNeverTakenOver: whatever cookie a browser already had, signing in makes another; and a session cannot make another
// session.
func TestASessionIsNeverTakenOver(t *testing.T) {
	r := newRig(t)
	planted := r.signIn("apikey", testKey)
	again := planted.ask("POST", "/session", "", func(h http.Header) { h.Set("apikey", testKey) })
	if fresh := again.Cookies()[0].Value; fresh == planted.cookie.Value {
		t.Error("signing in goes on with the cookie that was there")
	}
	wantError(t, planted.ask("POST", "/session", ""), 401, "UNAUTHORIZED")
}

// TestASessionEndsWithTheOperatorsKey: it is invalid once that key was replaced.
func TestASessionEndsWithTheOperatorsKey(t *testing.T) {
	r := newRig(t)
	s := r.signIn("apikey", testKey)
	r.api.APIKey = "another key of enough bytes"
	wantError(t, s.ask("GET", "/instance", ""), 401, "UNAUTHORIZED")
}

// TestACookieNeverAddsToAnotherCredential: a wrong key stays wrong with any cookie.
func TestACookieNeverAddsToAnotherCredential(t *testing.T) {
	r := newRig(t)
	s := r.signIn("apikey", testKey)
	wantError(t, s.ask("GET", "/instance", "", func(h http.Header) { h.Set("apikey", "wrong") }), 401, "UNAUTHORIZED")
}

// TestCookieSocketsAreForThisHostsPages, whatever origins may connect with a token.
func TestCookieSocketsAreForThisHostsPages(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	s := r.signIn("apikey", testKey)
	for origin, status := range map[string]int{"": 403, "https://allowed.example": 403, "null": 403, "http://example.com": 101} {
		req := handshakeOf("/ws/instance/events?event=*&instance=a", func(h http.Header) {
			h.Del("Origin")
			if origin != "" {
				h.Set("Origin", origin)
			}
		})
		req.AddCookie(s.cookie)
		if res := do(r.h, req); res.StatusCode != status {
			t.Errorf("origin %q: %s", origin, res.Status)
		}
	}
}

// TestWhatChangesIsInTheAuditLog: keys, instances, tokens, webhooks, options, limits, backups and the log level, with the actor;
// refused changes are not.
func TestWhatChangesIsInTheAuditLog(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	k := r.newKey(`{"name":"k","instances":["a"],"scopes":["webhook","manage"]}`)
	id := k.ID.String()
	steps := []struct{ credential, method, path, body, actor, action, subject string }{
		{"", "PATCH", "/keys/" + id, `{"name":"other"}`, "global", "key.change", id},
		{k.Key, "PUT", "/instance/a/webhook", `{"enabled":true,"url":"https://example.org/hook","events":{}}`, id, "webhook.change", "a"},
		{token, "PUT", "/instance/a/webhook/options", `{"durable":true}`, "instance:a", "webhook.options.change", "a"},
		{k.Key, "PUT", "/instance/a/limits", `{"perMinute":5}`, id, "limits.change", "a"},
		{"", "PUT", "/admin/log", `{"level":"debug"}`, "global", "log.change", ""},
		{"", "POST", "/auth/user-token", `{"expiresIn":60,"userId":"` + rest.ExampleUUID + `"}`, "global", "token.create", rest.ExampleUUID},
		{"", "POST", "/admin/backup", `{}`, "global", "backup.create", ""},
		{"", "PUT", "/instance/a/token", ``, "global", "token.create", "a"},
		{"", "POST", "/instance", `{"instanceName":"b"}`, "global", "instance.create", "b"},
		{"", "POST", "/instance/b/export", `{}`, "global", "instance.export", "b"},
		{"", "DELETE", "/instance/b/export", ``, "global", "instance.export.undo", "b"},
		{k.Key, "DELETE", "/instance/a", ``, id, "instance.delete", "a"},
		{"", "DELETE", "/keys/" + id, ``, "global", "key.delete", id},
	}
	for _, s := range steps {
		before := decoded[batch.List[operator.AuditRecord]](t, r.admin("GET", "/audit", "")).TotalRecords
		ask := func(body string) *http.Response {
			if s.credential != "" {
				return r.with(s.credential, s.method, s.path, body)
			}
			return r.admin(s.method, s.path, body)
		}
		if s.method == "DELETE" && strings.HasPrefix(s.path, "/instance/") { // which reads no body
			s.path += "?nothingOfThatName=1"
		}
		if res := ask(`{"nothingOfThatName":1}`); res.StatusCode != 400 {
			t.Errorf("%s %s: a wrong body: %s", s.method, s.path, res.Status)
		}
		if n := decoded[batch.List[operator.AuditRecord]](t, r.admin("GET", "/audit", "")).TotalRecords; n != before {
			t.Errorf("%s %s: what was refused is in the log", s.method, s.path)
		}
		s.path, _, _ = strings.Cut(s.path, "?")
		if res := ask(s.body); res.StatusCode >= 300 {
			t.Errorf("%s %s: %s %s", s.method, s.path, res.Status, text(t, res))
			continue
		}
		list := decoded[batch.List[operator.AuditRecord]](t, r.admin("GET", "/audit?limit=1", ""))
		last := list.Records[0]
		if list.TotalRecords != before+1 || last.Actor != s.actor || last.Action != s.action || last.Subject != s.subject || last.From != "192.0.2.1" {
			t.Errorf("%s %s: %d records, the last %+v", s.method, s.path, list.TotalRecords-before, last)
		}
	}
}

// TestAgentCallIsOneAuditLine, and no key can fill the log.
func TestAgentCallIsOneAuditLine(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("foreign")
	k := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"]}`)
	for _, name := range []string{"foreign", "nothing", "<script>"} {
		if res := r.with(k.Key, "POST", "/session/calls", `{"tool":"unknown","outcome":"failed","instance":"`+name+`"}`); res.StatusCode != 204 {
			t.Fatal(res.Status)
		}
		if last := decoded[batch.List[operator.AuditRecord]](t, r.admin("GET", "/audit?limit=1", "")).Records[0]; last.Subject != "" || last.Action != "mcp.unknown.failed" {
			t.Errorf("%s: %+v", name, last)
		}
	}
	before := decoded[batch.List[operator.AuditRecord]](t, r.admin("GET", "/audit", "")).TotalRecords
	note := func() *http.Response {
		return r.with(k.Key, "POST", "/session/calls", `{"tool":"read_messages","outcome":"refused","instance":"a"}`)
	}
	if res := note(); res.StatusCode != 204 {
		t.Fatal(res.Status)
	}
	list := decoded[batch.List[operator.AuditRecord]](t, r.admin("GET", "/audit?limit=1", ""))
	if last := list.Records[0]; list.TotalRecords != before+1 || last.Actor != k.ID.String() || last.Action != "mcp.read_messages.refused" || last.Subject != "a" {
		t.Errorf("%d records, the last %+v", list.TotalRecords-before, last)
	}
	res := note()
	for range 1000 { // on a slow machine some of the minute passes meanwhile
		if res.StatusCode != 204 {
			break
		}
		res = note()
	}
	wantError(t, res, 429, "RATE_LIMITED")
	for _, body := range []string{`{"tool":"DROP","outcome":"done"}`, `{"tool":"drop","outcome":"done"}`, `{"tool":"","outcome":"done"}`, `{"tool":"x","outcome":"well"}`} {
		wantError(t, r.with(k.Key, "POST", "/session/calls", body), 422, "INVALID_ARGUMENT")
	}
	wantError(t, r.admin("POST", "/session/calls", `{"tool":"x","outcome":"done"}`), 403, "SCOPE")
}

// TestKeyTextIsShownOnce: neither the lists nor the file nor the log contains it.
func TestKeyTextIsShownOnce(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	k := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"]}`)
	if !strings.HasPrefix(k.Key, "pk_") || !access.WellFormed(k.Key) {
		t.Errorf("key %q", k.Key)
	}
	r.with(k.Key, "GET", "/instance/a", "")
	r.with(k.Key+"x", "GET", "/instance/a", "")
	for _, path := range []string{"/keys", "/keys/" + k.ID.String(), "/audit"} {
		if body := text(t, r.admin("GET", path, "")); strings.Contains(body, k.Key) {
			t.Errorf("GET %s tells it", path)
		}
	}
	shown := decoded[operator.KeyView](t, r.admin("GET", "/keys/"+k.ID.String(), ""))
	if shown.LastUsedAt == nil || shown.LastUsedFrom == nil || *shown.LastUsedFrom != "192.0.2.1" {
		t.Errorf("used last: %+v", shown)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	logged := r.logged.String()
	if strings.Contains(logged, k.Key) || !strings.Contains(logged, k.ID.String()) || !strings.Contains(logged, "mistyped") {
		t.Errorf("the log has the text, or not the id and what was wrong: %s", logged)
	}
}

// TestKeysAreListedPageByPage
func TestKeysAreListedPageByPage(t *testing.T) {
	r := newRig(t)
	for range 5 {
		r.newKey(`{"name":"k","instances":["*"],"scopes":["read"]}`)
	}
	walk := func(path string) (ids []string, back string) {
		next := ""
		for {
			list := decoded[struct {
				NextCursor, PreviousCursor *string
				TotalRecords               int
				Records                    []struct{ ID json.RawMessage }
			}](t, r.admin("GET", path+"?limit=2"+next, ""))
			for _, k := range list.Records {
				ids = append(ids, string(k.ID))
			}
			if list.TotalRecords < 5 || len(list.Records) > 2 {
				t.Fatalf("%s: %+v", path, list)
			}
			if list.NextCursor == nil {
				return ids, *list.PreviousCursor
			}
			next = "&nextCursor=" + *list.NextCursor
		}
	}
	for _, path := range []string{"/keys", "/audit"} {
		ids, back := walk(path)
		if len(ids) != 5 {
			t.Fatalf("%s: %v", path, ids)
		}
		list := decoded[struct {
			Records []struct{ ID json.RawMessage }
		}](t, r.admin("GET", path+"?limit=2&previousCursor="+back, ""))
		if len(list.Records) != 2 || string(list.Records[0].ID) != ids[2] || string(list.Records[1].ID) != ids[3] {
			t.Errorf("%s: back from the last page %v, of %v", path, list.Records, ids)
		}
		wantError(t, r.admin("GET", path+"?nextCursor=nonsense", ""), 400, "INVALID_CURSOR")
	}
}

// TestBrokenKeyRuleIsNamed
func TestBrokenKeyRuleIsNamed(t *testing.T) {
	r := newRig(t)
	for body, field := range map[string]string{
		`{"name":"","instances":["*"],"scopes":["read"]}`:                                     "name",
		`{"name":"k","instances":[],"scopes":["read"]}`:                                       "instances",
		`{"name":"k","instances":["nobody"],"scopes":["read"]}`:                               "instances[0]",
		`{"name":"k","instances":["*","nobody"],"scopes":["read"]}`:                           "instances",
		`{"name":"k","instances":["*"],"scopes":[]}`:                                          "scopes",
		`{"name":"k","instances":["*"],"scopes":["read","write"]}`:                            "scopes[1]",
		`{"name":"k","instances":["*"],"scopes":["batch"]}`:                                   "userId",
		`{"name":"k","instances":["*"],"scopes":["batch"],"userId":"me"}`:                     "userId",
		`{"name":"k","instances":["*"],"scopes":["send"],"recipients":["12"]}`:                "recipients[0]",
		`{"name":"k","instances":["*"],"scopes":["send"],"recipients":[]}`:                    "recipients",
		`{"name":"k","instances":["*"],"scopes":["send"],"expiresAt":"2020-01-01T00:00:00Z"}`: "expiresAt",
		`{"name":"k","instances":["*"],"scopes":["send"],"expiresAt":"soon"}`:                 "expiresAt",
		`{"name":"k","instances":["*"],"scopes":["send"],"expiresAt":"0001-01-01T00:00:00Z"}`: "expiresAt",
		`{"name":"k","instances":["*"],"scopes":["send"],"expiresAt":""}`:                     "expiresAt",
		`{"name":"k","instances":["*"],"scopes":["send"],"rateLimit":{"perMinute":-1}}`:       "rateLimit.perMinute",
		`{"name":"k","instances":["*"],"scopes":["send"],"rateLimit":{"perMinute":0}}`:        "rateLimit.perMinute",
	} {
		if e := wantError(t, r.admin("POST", "/keys", body), 422, "INVALID_KEY"); !strings.Contains(e.Messages[0], field) {
			t.Errorf("%s: %q", body, e.Messages)
		}
	}
	if n := decoded[batch.List[operator.KeyView]](t, r.admin("GET", "/keys", "")).TotalRecords; n != 0 {
		t.Errorf("%d keys were made", n)
	}
	k := r.newKey(`{"name":"k","instances":["*"],"scopes":["read"]}`)
	wantError(t, r.admin("PATCH", "/keys/"+k.ID.String(), `{"scopes":["send"]}`), 400, "UNKNOWN_FIELD")
	wantError(t, r.admin("PATCH", "/keys/"+k.ID.String(), `{"expiresAt":"0001-01-01T00:00:00Z"}`), 422, "INVALID_KEY")
	wantError(t, r.admin("GET", "/keys/"+rest.ExampleUUID, ""), 404, "KEY_NOT_FOUND")
}

// TestAuditLogNamesKeysByID, so that a search for the id finds it.
func TestAuditLogNamesKeysByID(t *testing.T) {
	r := newRig(t)
	k := r.newKey(`{"name":"k","instances":["*"],"scopes":["read"]}`)
	id := k.ID.String()
	wantError(t, r.admin("GET", "/keys/"+strings.ReplaceAll(id, "-", ""), ""), 404, "KEY_NOT_FOUND")
	if res := r.admin("DELETE", "/keys/"+strings.ToUpper(id), ""); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	found := decoded[operator.AuditList](t, r.admin("GET", "/audit?action=key.delete&subject="+id, ""))
	if len(found.Records) != 1 {
		t.Errorf("%+v", found.Records)
	}
}
