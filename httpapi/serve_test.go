package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/tokens/tokenstest"
	"postern/store"
)

const testKey = "the-global-key"

// bare returns the interface with only the given routes and no packages below it.
func bare(logs io.Writer, rows ...rest.Route) *rest.Server {
	s := rest.Bare(rest.Config{
		APIKey: testKey, JWTSecret: testSecret, Aliases: aliases(), Errors: answerTo, RetryAfter: retryAfter,
	})
	s.Log = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, r := range rows {
		s.Router.Add(r.Method, r.Path, s.Handler(r))
	}
	return s
}

func ok(c *rest.Call) error { return c.Response.JSON(http.StatusOK, struct{}{}) }

func fails(err error) rest.Handler { return func(*rest.Call) error { return err } }

// do sends one request and returns the answer.
func do(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// wantError checks the whole shape of the error body.
func wantError(t testing.TB, res *http.Response, status int, code string) rest.ErrorBody {
	t.Helper()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", res.StatusCode, status, raw)
	}
	var b rest.ErrorBody
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	text := strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "-")
	if b.StatusCode != status || b.Code != code || b.Error != text {
		t.Errorf("got %+v, want %d %s %s", b, status, text, code)
	}
	if len(b.Messages) == 0 || !slices.Equal(b.Messages, b.Message) {
		t.Errorf("messages %q, message %q", b.Messages, b.Message)
	}
	if id := res.Header.Get("x-request-id"); id == "" || b.RequestID != id {
		t.Errorf("requestId %q, x-request-id %q", b.RequestID, id)
	}
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	return b
}

func TestRequestIDIsTheCallersOrAUUID(t *testing.T) {
	a := bare(io.Discard, rest.Route{Method: "GET", Path: "/x", Auth: rest.Public, Right: rest.Never, Handle: ok})
	cases := []struct {
		given []string
		kept  bool
	}{
		{[]string{"abc-1"}, true},
		{[]string{"!~"}, true},
		{[]string{strings.Repeat("x", 128)}, true},
		{[]string{strings.Repeat("x", 129)}, false},
		{[]string{"a b"}, false},
		{[]string{"é"}, false},
		{[]string{""}, false},
		{[]string{"a", "b"}, false},
		{nil, false},
	}
	for _, c := range cases {
		r := httptest.NewRequest("GET", "/x", nil)
		r.Header["X-Request-Id"] = c.given
		got := do(a, r).Header.Get("x-request-id")
		if c.kept && got != c.given[0] {
			t.Errorf("%q: got %q", c.given, got)
		}
		if _, err := uuid.Parse(got); !c.kept && err != nil {
			t.Errorf("%q: got %q, want a UUID", c.given, got)
		}
	}
}

func TestEveryRefusalHasTheOneErrorBody(t *testing.T) {
	var logs bytes.Buffer
	a := bare(&logs,
		rest.Route{Method: "GET", Path: "/x", Auth: rest.Public, Right: rest.Never, Handle: ok},
		rest.Route{Method: "PUT", Path: "/x", Auth: rest.Public, Right: rest.Never, Handle: ok},
		rest.Route{Method: "GET", Path: "/panics", Auth: rest.Public, Right: rest.Never, Handle: func(*rest.Call) error { panic("boom") }},
		rest.Route{Method: "GET", Path: "/breaks", Auth: rest.Public, Right: rest.Never, Handle: fails(errors.New("a secret of the inside"))},
		rest.Route{Method: "GET", Path: "/key", Auth: rest.GlobalKey, Right: rest.Never, Handle: ok},
	)
	wantError(t, do(a, httptest.NewRequest("GET", "/nowhere", nil)), 404, "NOT_FOUND")

	res := do(a, httptest.NewRequest("POST", "/x", nil))
	if allow := res.Header.Get("Allow"); allow != "GET, PUT" {
		t.Errorf("Allow %q", allow)
	}
	wantError(t, res, 405, "METHOD_NOT_ALLOWED")
	wantError(t, do(a, httptest.NewRequest("GET", "/panics", nil)), 500, "INTERNAL_ERROR")
	b := wantError(t, do(a, httptest.NewRequest("GET", "/breaks", nil)), 500, "INTERNAL_ERROR")
	if strings.Contains(b.Messages[0], "secret") {
		t.Error("an inner error reached the caller")
	}
	if !strings.Contains(logs.String(), "a secret of the inside") || !strings.Contains(logs.String(), "boom") {
		t.Errorf("a fault of ours is not in the log: %s", logs.String())
	}
	wantError(t, do(a, httptest.NewRequest("GET", "/key", nil)), 401, "UNAUTHORIZED")
}

func TestNothingIsRedirected(t *testing.T) {
	a := bare(io.Discard, rest.Route{Method: "GET", Path: "/x", Auth: rest.Public, Right: rest.Never, Handle: ok}, rest.Route{Method: "GET", Path: "/y/{id}", Auth: rest.Public, Right: rest.Never, Handle: ok})
	for _, path := range []string{"/x//", "//x", "/X", "/y/", "/y//", "/y/1//", "/y/%2F", "/./x", "/a/../x"} {
		if got := do(a, httptest.NewRequest("GET", path, nil)).StatusCode; got != 404 {
			t.Errorf("%s: status %d", path, got)
		}
	}
}

func TestASlashAtTheEndChangesNothing(t *testing.T) {
	a := bare(io.Discard, rest.Route{Method: "GET", Path: "/x", Auth: rest.Public, Right: rest.Never, Handle: ok}, rest.Route{Method: "GET", Path: "/y/{id}", Auth: rest.Public, Right: rest.Never, Handle: ok})
	a.Mount(rest.Route{Path: "/m/", Auth: rest.Public, Handle: rest.ServeWith(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/m/x" {
			t.Errorf("the handler below sees %q", r.URL.Path)
		}
	}))})
	for _, path := range []string{"/x/", "/x/?a=b", "/y/1/", "/y/a%20b/", "/m/x/"} {
		if got := do(a, httptest.NewRequest("GET", path, nil)).StatusCode; got != 200 {
			t.Errorf("%s: status %d", path, got)
		}
	}
}

func TestGlobalKeyHeadersMustAgree(t *testing.T) {
	a := bare(io.Discard, rest.Route{Method: "GET", Path: "/x", Auth: rest.GlobalKey, Right: rest.Never, Handle: ok})
	cases := []struct {
		name   string
		header http.Header
		status int
	}{
		{"apikey", http.Header{"Apikey": {testKey}}, 200},
		{"x-api-key", http.Header{"X-Api-Key": {testKey}}, 200},
		{"both", http.Header{"Apikey": {testKey}, "X-Api-Key": {testKey}}, 200},
		{"twice the same", http.Header{"Apikey": {testKey, testKey}}, 200},
		{"none", http.Header{}, 401},
		{"empty", http.Header{"Apikey": {""}}, 401},
		{"wrong", http.Header{"Apikey": {"other"}}, 401},
		{"longer", http.Header{"Apikey": {testKey + "x"}}, 401},
		{"another case", http.Header{"Apikey": {strings.ToUpper(testKey)}}, 401},
		{"both wrong", http.Header{"Apikey": {"other"}, "X-Api-Key": {"other"}}, 401},
		{"as a bearer", http.Header{"Authorization": {"Bearer " + testKey}}, 401},
		{"different", http.Header{"Apikey": {testKey}, "X-Api-Key": {"other"}}, 400},
		{"different in one", http.Header{"Apikey": {testKey, "other"}}, 400},
		{"one empty", http.Header{"Apikey": {testKey}, "X-Api-Key": {""}}, 400},
	}
	for _, c := range cases {
		r := httptest.NewRequest("GET", "/x", nil)
		r.Header = c.header
		if got := do(a, r).StatusCode; got != c.status {
			t.Errorf("%s: status %d, want %d", c.name, got, c.status)
		}
	}
}

func TestUserBearerTakesOnlyGoodUserTokens(t *testing.T) {
	a := bare(io.Discard, rest.Route{Method: "GET", Path: "/x", Auth: rest.UserBearer, Right: rest.Never, Handle: ok})
	good := map[string]any{"userId": uuid.NewString(), "exp": 32503680000}
	token := tokenstest.Signed(t, jwt.SigningMethodHS256, testSecret, good, nil)
	for header, status := range map[string]int{
		"Bearer " + token:  200,
		"bearer " + token:  200,
		"Bearer  " + token: 200,
		token:              401,
		"Basic " + token:   401,
		"Bearer":           401,
		"":                 401,
	} {
		r := httptest.NewRequest("GET", "/x", nil)
		r.Header.Set("Authorization", header)
		if got := do(a, r).StatusCode; got != status {
			t.Errorf("%.12q: status %d, want %d", header, got, status)
		}
	}
	var texts []string
	for name, token := range tokenstest.Forged(t, good) {
		r := httptest.NewRequest("GET", "/x", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		res := do(a, r)
		if res.StatusCode != 401 {
			t.Errorf("%s: status %d", name, res.StatusCode)
			continue
		}
		texts = append(texts, strings.Join(wantError(t, res, 401, "UNAUTHORIZED").Messages, "; "))
	}
	if slices.Sort(texts); len(slices.Compact(texts)) != 1 {
		t.Errorf("401 has more than one text: %q", slices.Compact(texts))
	}
}

func TestBodyOverLimitIs413AndWrongType415(t *testing.T) {
	a := bare(io.Discard, rest.Route{Method: "POST", Path: "/x", Auth: rest.Public, Right: rest.Never, Handle: func(c *rest.Call) error {
		var v struct {
			A string `json:"a"`
		}
		if err := c.Decode(&v, 32); err != nil {
			return err
		}
		return c.Response.JSON(200, v)
	}})
	cases := []struct {
		name, contentType, body string
		status                  int
		code                    string
	}{
		{"JSON", "application/json", `{"a":"b"}`, 200, ""},
		{"no Content-Type", "", `{"a":"b"}`, 200, ""},
		{"a charset", "application/json; charset=UTF-8", `{"a":"b"}`, 200, ""},
		{"exactly the limit", "", `{"a":"` + strings.Repeat("x", 24) + `"}`, 200, ""},
		{"one byte more", "", `{"a":"` + strings.Repeat("x", 25) + `"}`, 413, "BODY_TOO_LARGE"},
		{"more white space after", "", `{}` + strings.Repeat(" ", 31), 413, "BODY_TOO_LARGE"},
		{"text", "text/plain", `{"a":"b"}`, 415, "UNSUPPORTED_CONTENT_TYPE"},
		{"another charset", "application/json; charset=latin1", `{}`, 415, "UNSUPPORTED_CONTENT_TYPE"},
		{"a form", "application/x-www-form-urlencoded", ``, 415, "UNSUPPORTED_CONTENT_TYPE"},
		{"broken", "", `{"a"`, 400, "MALFORMED_JSON"},
		{"unknown", "", `{"b":1}`, 400, "UNKNOWN_FIELD"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/x", strings.NewReader(c.body))
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			res := do(a, r)
			if c.status != 200 {
				wantError(t, res, c.status, c.code)
			} else if res.StatusCode != 200 {
				t.Errorf("status %d", res.StatusCode)
			}
		})
	}
}

func TestErrorTableMapsEachSentinelAlsoWhenWrapped(t *testing.T) {
	for _, m := range errorTable() {
		a := bare(io.Discard, rest.Route{Method: "GET", Path: "/x", Auth: rest.Public, Right: rest.Never, Handle: fails(fmt.Errorf("some operation: %w", m.err))})
		wantError(t, do(a, httptest.NewRequest("GET", "/x", nil)), m.status, m.code)
	}
}

func TestErrorTableHasNoHiddenRow(t *testing.T) {
	table := errorTable()
	for i, m := range table {
		for _, earlier := range table[:i] {
			if errors.Is(m.err, earlier.err) && (m.status != earlier.status || m.code != earlier.code) {
				t.Errorf("%v is hidden by %v", m.err, earlier.err)
			}
		}
	}
}

func TestErrorTableSaysWhatTheContractSays(t *testing.T) {
	want := map[error]string{
		store.ErrDiskFull:       "503 DISK_FULL",
		event.ErrNotOnWhatsApp:  "422 RECIPIENT_NOT_ON_WHATSAPP",
		event.ErrSendRefused:    "422 SEND_MESSAGE_FAILED",
		event.ErrTimelocked:     "422 REACHOUT_TIMELOCKED",
		event.ErrOutcomeUnknown: "408 SEND_RESULT_UNKNOWN",
		event.ErrRecipient:      "422 INVALID_RECIPIENT",
	}
	for err, w := range want {
		r, known := answerTo(err)
		if got := fmt.Sprint(r.Status, " ", r.Code); !known || got != w {
			t.Errorf("%v: got %s, want %s", err, got, w)
		}
	}
}

func TestLogHasRoutesWithoutQueriesOrTokens(t *testing.T) {
	var logs bytes.Buffer
	a := bare(&logs, rest.Route{Method: "GET", Path: "/y/{id}", Auth: rest.Public, Right: rest.Never, Handle: ok})
	r := httptest.NewRequest("GET", "/y/hidden-name?token=hidden-token", nil)
	r.Header.Set("Authorization", "Bearer hidden-bearer")
	r.Header.Set("X-Request-Id", "rid-1")
	do(a, r)
	for _, want := range []string{"method=GET", "route=/y/{id}", "status=200", "request_id=rid-1", "duration="} {
		if !strings.Contains(logs.String(), want) {
			t.Errorf("no %q in %s", want, logs.String())
		}
	}
	if strings.Contains(logs.String(), "hidden") {
		t.Errorf("too much in the log: %s", logs.String())
	}
}

func TestLogHasRefusalCodesWithoutMessages(t *testing.T) {
	var logs bytes.Buffer
	a := bare(&logs,
		rest.Route{Method: "POST", Path: "/refused", Auth: rest.Public, Right: rest.Never, Handle: fails(rest.Refuse(http.StatusUnprocessableEntity, "INVALID_MEDIA", "hidden text"))},
		rest.Route{Method: "GET", Path: "/good", Auth: rest.Public, Right: rest.Never, Handle: ok})
	do(a, httptest.NewRequest("POST", "/refused", nil))
	if got := logs.String(); !strings.Contains(got, "code=INVALID_MEDIA") || strings.Contains(got, "hidden") {
		t.Errorf("of the refusal: %s", got)
	}
	logs.Reset()
	do(a, httptest.NewRequest("GET", "/good", nil))
	if strings.Contains(logs.String(), "code=") {
		t.Errorf("a code without a refusal: %s", logs.String())
	}
}

// TestLogNeverHasAPath: a path may contain a phone number, a key, or a text of a stranger, and the pattern is enough for an operator.
func TestLogNeverHasAPath(t *testing.T) {
	var logs bytes.Buffer
	a := bare(&logs,
		rest.Route{Method: "GET", Path: "/fixed", Auth: rest.Public, Right: rest.Never, Handle: ok},
		rest.Route{Method: "GET", Path: "/y/{id}", Auth: rest.Public, Right: rest.Never, Handle: fails(rest.Refuse(http.StatusNotFound, rest.CodeNotFound, "no such thing"))},
		rest.Route{Method: "GET", Path: "/broken/{id}", Auth: rest.Public, Right: rest.Never, Handle: fails(errors.New("a fault"))},
		rest.Route{Method: "GET", Path: "/panics/{id}", Auth: rest.Public, Right: rest.Never, Handle: func(*rest.Call) error { panic("boom") }},
		rest.Route{Method: "GET", Path: "/portal/{token}/logo", Auth: rest.Public, Right: rest.Never, Handle: ok})
	for _, c := range []struct{ method, target, want string }{
		{"GET", "/4915112345678", `route="" status=404`},
		{"GET", "/wp-login.php/4915112345678?token=4915112345678", `route="" status=404`},
		{"DELETE", "/y/4915112345678", `route="" status=405`},
		{"GET", "/y/4915112345678", "route=/y/{id} status=404"},
		{"GET", "/y/4915112345678/", "route=/y/{id} status=404"},
		{"GET", "/y%2f4915112345678", "status=404"},
		{"GET", "/broken/4915112345678", "route=/broken/{id} status=500"},
		{"GET", "/panics/4915112345678", "route=/panics/{id} status=500"},
		{"POST", "/portal/4915112345678/logo", "status=405"},
		{"PK_4915112345678", "/fixed", "method=other"},
		{"GET", "/" + strings.Repeat("4915112345678", 400), "status=404"},
	} {
		logs.Reset()
		do(a, httptest.NewRequest(c.method, c.target, nil))
		if got := logs.String(); !strings.Contains(got, c.want) || strings.Contains(got, "4915112345678") {
			t.Errorf("%s %.40s: no %q, or the path, in %s", c.method, c.target, c.want, got)
		}
	}
}

func TestLogHidesSuccessfulScrapesAndHealthChecks(t *testing.T) {
	var logs bytes.Buffer
	a := bare(&logs, rest.Route{Method: "GET", Path: "/health", Auth: rest.Public, Right: rest.Never, Handle: ok}, rest.Route{Method: "GET", Path: "/ready", Auth: rest.Public, Right: rest.Never, Handle: ok}, rest.Route{Method: "GET", Path: rest.PathMetrics, Auth: rest.GlobalKey, Right: rest.Never, Handle: ok}, rest.Route{Method: "GET", Path: "/else", Auth: rest.Public, Right: rest.Never, Handle: ok})
	for path, want := range map[string]string{"/health": "DEBUG", "/ready": "DEBUG", rest.PathMetrics: "DEBUG", "/else": "INFO"} {
		logs.Reset()
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("apikey", testKey)
		do(a, r)
		if !strings.Contains(logs.String(), "level="+want+" ") {
			t.Errorf("%s: %s", path, logs.String())
		}
	}
	logs.Reset()
	do(a, httptest.NewRequest("GET", rest.PathMetrics, nil))
	if !strings.Contains(logs.String(), "level=INFO ") || !strings.Contains(logs.String(), "status=401") {
		t.Errorf("a scrape without its key: %s", logs.String())
	}
}

func TestMountedHandlerHasThePathsBehindTheKey(t *testing.T) {
	a := bare(io.Discard)
	a.Mount(rest.Route{Path: "/sandbox/", Auth: rest.GlobalKey, Handle: rest.ServeWith(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
	}))})
	r := httptest.NewRequest("POST", "/sandbox/phones/1/act", nil)
	wantError(t, do(a, r), 401, "UNAUTHORIZED")
	r.Header.Set("apikey", testKey)
	body, _ := io.ReadAll(do(a, r).Body)
	if string(body) != "POST /sandbox/phones/1/act" {
		t.Errorf("got %q", body)
	}
	wantError(t, do(bare(io.Discard), r), 404, "NOT_FOUND")
}
