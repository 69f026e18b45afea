package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"postern/httpapi/rest"
)

// TestChecksHaveTheOrderPathMethodCredentialBody corrects one fault of a request after the other and checks each
// answer.
func TestChecksHaveTheOrderPathMethodCredentialBody(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.instance("b")
	send := func(method, path, token, contentType, body string) *http.Response {
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Content-Type", contentType)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		return do(r.h, req)
	}
	wantError(t, send("PATCH", "/instance/a/webhooks", "", "text/plain", "{"), 404, "NOT_FOUND")
	wantError(t, send("PATCH", "/instance/a/webhook", "", "text/plain", "{"), 405, "METHOD_NOT_ALLOWED")
	wantError(t, send("PUT", "/instance/a/webhook", "", "text/plain", "{"), 401, "UNAUTHORIZED")
	wantError(t, send("PUT", "/instance/b/webhook", token, "text/plain", "{"), 403, "FORBIDDEN")
	wantError(t, send("PUT", "/instance/a/webhook", token, "text/plain", "{"), 415, "UNSUPPORTED_CONTENT_TYPE")
	wantError(t, send("PUT", "/instance/a/webhook", token, "application/json", "{"), 400, "MALFORMED_JSON")
}

func TestOneTextForEveryCauseOf401(t *testing.T) {
	r := newRig(t)
	old := r.instance("a")
	r.admin("PUT", "/instance/a/token", "")
	want := wantError(t, r.admin("GET", "/instance/a", ""), 401, "UNAUTHORIZED").Messages[0]
	for name, header := range map[string]string{
		"none": "", "no scheme": old, "another scheme": "Basic " + old, "rubbish": "Bearer x", "revoked": "Bearer " + old, "a user's": "Bearer " + r.token,
	} {
		req := httptest.NewRequest("GET", "/instance/a", nil)
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		res := do(r.h, req)
		if got := wantError(t, res, 401, "UNAUTHORIZED").Messages[0]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if got := res.Header.Get("Www-Authenticate"); got != "Bearer" {
			t.Errorf("%s: Www-Authenticate %q", name, got)
		}
	}
	wrongKey := httptest.NewRequest("GET", "/instance", nil)
	wrongKey.Header.Set("apikey", "wrong")
	if got := wantError(t, do(r.h, wrongKey), 401, "UNAUTHORIZED").Messages[0]; got != want {
		t.Errorf("a wrong key: %q", got)
	}
}

func Test401AsksForBearerOnlyWhereAccepted(t *testing.T) {
	r := newRig(t)
	for _, row := range routes() {
		if row.Auth == rest.Public || row.Auth == rest.Handshake || row.Auth == rest.PortalLink {
			continue
		}
		want := ""
		if row.Auth != rest.GlobalKey {
			want = "Bearer"
		}
		res := do(r.h, httptest.NewRequest(row.Method, concrete(row.Path), nil))
		if got := res.Header.Get("Www-Authenticate"); res.StatusCode != 401 || got != want {
			t.Errorf("%s %s: %d with Www-Authenticate %q, want %q", row.Method, row.Path, res.StatusCode, got, want)
		}
	}
	if res := do(r.h, handshakeOf("/ws/global/events?event=*&token=wrong", nil)); res.StatusCode != 401 || res.Header.Get("Www-Authenticate") != "Bearer" {
		t.Errorf("a handshake: %d with %q", res.StatusCode, res.Header.Get("Www-Authenticate"))
	}
}

func TestTwoAuthorizationHeadersAreNoCredential(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	req := httptest.NewRequest("GET", "/instance/a", nil)
	req.Header["Authorization"] = []string{"Bearer " + token, "Bearer " + token}
	wantError(t, do(r.h, req), 401, "UNAUTHORIZED")
}

func TestOPTIONSIsAMethodThatNoPathHas(t *testing.T) {
	r := newRig(t)
	wantError(t, do(r.h, httptest.NewRequest("OPTIONS", "/health", nil)), 405, "METHOD_NOT_ALLOWED")
	asterisk := httptest.NewRequest("OPTIONS", "/", nil)
	asterisk.URL.Path, asterisk.RequestURI = "*", "*"
	wantError(t, do(r.h, asterisk), 404, "NOT_FOUND")
}

func TestAnEmptyOrEscapedPathParameterIs404(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	for _, path := range []string{
		"/instance//", "/instance//webhook", "/instance/%2F", "/instance/a%2Fwebhook", "/instance/a%2fwebhook",
		"/instance/fetchInstance//", "/webhook/find/", "/instance/a/connect/code//", "/instance/a//", "/instance/a%2F..%2Fb",
	} {
		wantError(t, r.as(token, "GET", path, ""), 404, "NOT_FOUND")
	}
	wantError(t, r.as(token, "POST", "/sandbox%2Fphones", ""), 404, "NOT_FOUND")
	if res := r.as(token, "GET", "/instance/%61", ""); res.StatusCode != 200 {
		t.Errorf("an escaped letter: %d", res.StatusCode)
	}
}

func TestInstanceNamedTwiceInPathMustAgree(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	wantError(t, r.as(token, "DELETE", "/instance/a/logout/b", ""), 404, "NOT_FOUND")
	wantError(t, r.as(token, "DELETE", "/instance/a/logout/A", ""), 404, "NOT_FOUND")
	if res := r.as(token, "DELETE", "/instance/a/logout/a", ""); res.StatusCode != 200 {
		t.Errorf("both equal: %d", res.StatusCode)
	}
}

// TestEveryAliasAnswersLikeItsCurrentPath calls both without a valid credential, so that nothing changes.
func TestEveryAliasAnswersLikeItsCurrentPath(t *testing.T) {
	r := newRig(t)
	for _, row := range aliases() {
		for _, method := range row.Methods {
			alias := do(r.h, httptest.NewRequest(method, concrete(row.From), nil))
			current := do(r.h, httptest.NewRequest(method, concrete(row.To), nil))
			if alias.StatusCode != current.StatusCode || alias.StatusCode != 401 {
				t.Errorf("%s %s: %d, its current path %d", method, row.From, alias.StatusCode, current.StatusCode)
			}
		}
	}
}

func TestABodyIsOptionalWhereEveryFieldIs(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	for _, body := range []string{"", " \n", "{}"} {
		if res := r.admin("POST", "/instance", body); res.StatusCode != 201 {
			t.Errorf("create with %q: %d", body, res.StatusCode)
		}
		if res := r.admin("PUT", "/instance/a/token", body); res.StatusCode != 200 {
			t.Errorf("a route that takes no body, with %q: %d", body, res.StatusCode)
		}
	}
	wantError(t, r.admin("PUT", "/instance/a/token", `{"force":true}`), 400, "UNKNOWN_FIELD")
	wantError(t, r.admin("POST", "/auth/user-token", ""), 400, "MISSING_FIELD")
}

// TestEveryBodyIsReadStrictly sends all faults of bodies to every route that reads one.
func TestEveryBodyIsReadStrictly(t *testing.T) {
	r := newRig(t)
	token := r.instance("some-instance")
	for _, row := range routes() {
		if row.Method != "POST" && row.Method != "PUT" {
			continue
		}
		if row.Form != nil && row.In == nil {
			continue // a multipart body, see TestEveryFormIsReadStrictly
		}
		for body, code := range map[string]string{
			`[]`:                   "INVALID_TYPE",
			`null`:                 "INVALID_TYPE",
			`"x"`:                  "INVALID_TYPE",
			`{"noSuchField":1}`:    "UNKNOWN_FIELD",
			`{"NAME":1}`:           "UNKNOWN_FIELD",
			`{`:                    "MALFORMED_JSON",
			"{\"\xff\":1}":         "MALFORMED_JSON",
			"\xef\xbb\xbf{}":       "MALFORMED_JSON", // a byte order mark is no JSON
			`{"noSuchField":1,}{}`: "UNKNOWN_FIELD",
		} {
			req := httptest.NewRequest(row.Method, r.at(row), strings.NewReader(body))
			req.Header.Set("apikey", testKey)
			req.Header.Set("Authorization", "Bearer "+token)
			if row.Auth == rest.UserBearer {
				req.Header.Set("Authorization", "Bearer "+r.token)
			}
			if takesAnyField(row) && code == "UNKNOWN_FIELD" {
				if code = rest.CodeInvalidQuery; strings.HasSuffix(body, ",}{}") {
					code = "MALFORMED_JSON"
				}
			}
			res := do(r.h, req)
			if res.StatusCode != 400 {
				t.Errorf("%s %s with %q: status %d", row.Method, row.Path, body, res.StatusCode)
				continue
			}
			wantError(t, res, 400, code)
		}
	}
}

// takesAnyField reports that a route ignores unknown fields. The next fault that it finds is in its query.
func takesAnyField(row rest.Route) bool {
	return types()[row.In].Open
}

func TestBodyLimitIsExactly1MiB(t *testing.T) {
	r := newRig(t)
	fill := func(n int) string {
		const head, tail = `{"instanceName":"a"`, `}`
		return head + strings.Repeat(" ", n-len(head)-len(tail)) + tail
	}
	wantError(t, r.admin("POST", "/instance", fill(rest.MaxBody+1)), 413, "BODY_TOO_LARGE")
	if res := r.admin("POST", "/instance", fill(rest.MaxBody)); res.StatusCode != 201 {
		t.Errorf("at the limit: %d", res.StatusCode)
	}
}

func TestDeeplyNestedJSONIsRefusedAndHarmsNothing(t *testing.T) {
	r := newRig(t)
	const depth = 100_000
	body := `{"externalAttributes":{"a":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}}`
	wantError(t, r.admin("POST", "/instance", body), 400, "TOO_DEEP")
}

func TestARefusedRequestChangesNothing(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.as(token, "PUT", "/instance/a/webhook", `{"url":"https://example.org","events":{"callUpsert":true}}`)
	before := text(t, r.admin("GET", "/instance", ""))
	wantError(t, r.as(token, "PUT", "/instance/a/webhook", `{"url":"ftp://example.org","enabled":false}`), 400, "INVALID_WEBHOOK")
	wantError(t, r.as(token, "PUT", "/instance/a/webhook", `{"enabled":false,"events":{"nothing":true}}`), 400, "UNKNOWN_FIELD")
	wantError(t, r.as(token, "PUT", "/instance/refreshToken/a", `{"oldToken":"x"}`), 401, "UNAUTHORIZED")
	wantError(t, r.as(token, "DELETE", "/instance/a?force=x", ""), 400, "INVALID_QUERY")
	wantError(t, r.as(token, "DELETE", "/instance/a?force=true&force=true", ""), 400, "INVALID_QUERY")
	wantError(t, r.admin("POST", "/instance", `{"instanceName":"b","description":1}`), 400, "INVALID_TYPE")
	if after := text(t, r.admin("GET", "/instance", "")); after != before {
		t.Errorf("before %s\nafter %s", before, after)
	}
}

func text(t *testing.T, res *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
