package httpapi

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"postern/httpapi/instances"
	"postern/httpapi/tokens"
	"postern/httpapi/tokens/tokenstest"
	"postern/instance"
	"postern/instance/webhooks"
)

func TestInstanceNamesFollowTheRule(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"x", "A.b_c-1", "-", "_", "a.", "Create", "Events", "FETCHINSTANCES", strings.Repeat("x", 255)} {
		if res := r.admin("POST", "/instance", `{"instanceName":"`+name+`"}`); res.StatusCode != 201 {
			t.Errorf("%.20q: status %d", name, res.StatusCode)
		}
	}
	for _, word := range []string{
		"create", "fetchInstances", "fetchInstance", "delete", "refreshToken", "connect", "connectionState", "logout", "events",
	} {
		b := wantError(t, r.admin("POST", "/instance", `{"instanceName":"`+word+`"}`), 422, "INVALID_INSTANCE")
		if !strings.Contains(b.Messages[0], "instanceName") || !strings.Contains(b.Messages[0], word) {
			t.Errorf("%s: the message names neither field nor word: %q", word, b.Messages)
		}
	}
}

func TestEveryReservedWordStandsInAPath(t *testing.T) {
	for _, row := range aliases() {
		first, rest, _ := strings.Cut(strings.TrimPrefix(row.From, "/instance/"), "/")
		if !strings.HasPrefix(row.From, "/instance/") || strings.HasPrefix(first, "{") {
			continue
		}
		if instance.CheckName(first) == nil {
			t.Errorf("an instance could be called %q, which %s/%s means otherwise", first, first, rest)
		}
	}
}

func TestLimitsOfAnInstanceCountCharactersAndBytes(t *testing.T) {
	r := newRig(t)
	attributes := func(size int) string { return `{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}` }
	for body, status := range map[string]int{
		`{"description":"` + strings.Repeat("ü", 255) + `"}`: 201,
		`{"description":"` + strings.Repeat("ü", 256) + `"}`: 422,
		`{"description":""}`: 201,
		`{"externalAttributes":` + attributes(64<<10) + `}`:          201,
		`{"externalAttributes":` + attributes(64<<10+1) + `}`:        422,
		`{"description":null,"externalAttributes":null}`:             201,
		`{"externalAttributes":"{}"}`:                                400,
		`{"externalAttributes":{"deep":[{"x":1,"x":2}]}}`:            400,
		`{"externalAttributes":{"not":"ours to judge","Null":null}}`: 201,
	} {
		if res := r.admin("POST", "/instance", body); res.StatusCode != status {
			t.Errorf("%.50s…: status %d, want %d", body, res.StatusCode, status)
		}
	}
}

func TestDuplicateNameIs409UntilFreed(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	wantError(t, r.admin("POST", "/instance", `{"instanceName":"a"}`), 409, "INSTANCE_EXISTS")
	if res := r.admin("POST", "/instance", `{"instanceName":"A"}`); res.StatusCode != 201 {
		t.Errorf("a name in another case: %d", res.StatusCode)
	}
	if res := r.as(token, "DELETE", "/instance/a", ""); res.StatusCode != 200 {
		t.Fatalf("delete: %d", res.StatusCode)
	}
	again := decoded[instances.CreatedInstance](t, r.admin("POST", "/instance", `{"instanceName":"a"}`))
	if again.ID != 3 {
		t.Errorf("id %d, want 3", again.ID)
	}
	wantError(t, r.as(token, "GET", "/instance/a", ""), 401, "UNAUTHORIZED")
}

func TestUserTokenLifeIs1To31536000Seconds(t *testing.T) {
	r := newRig(t)
	for value, want := range map[string]string{
		"1": "201", "31536000": "201", "0": "422 INVALID_EXPIRES_IN", "-1": "422 INVALID_EXPIRES_IN", "31536001": "422 INVALID_EXPIRES_IN",
		"1.5": "400 INVALID_TYPE", `"60"`: "400 INVALID_TYPE", "null": "400 INVALID_TYPE", "1e3": "400 INVALID_TYPE",
	} {
		var status int
		var code string
		_, _ = fmt.Sscan(want, &status, &code)
		res := r.admin("POST", "/auth/user-token", `{"expiresIn":`+value+`}`)
		if status != 201 {
			wantError(t, res, status, code)
		} else if res.StatusCode != 201 {
			t.Errorf("%s: status %d", value, res.StatusCode)
		}
	}
	for _, id := range []string{"", "42", "urn:uuid:" + uuid.NewString(), "{" + uuid.NewString() + "}", strings.ReplaceAll(uuid.NewString(), "-", "")} {
		wantError(t, r.admin("POST", "/auth/user-token", `{"expiresIn":60,"userId":"`+id+`"}`), 422, "INVALID_USER_ID")
	}
}

func TestExpiredUserTokenOpensNoBatches(t *testing.T) {
	r := newRig(t)
	hour := time.Now().Add(time.Hour).Unix()
	for name, c := range map[string]jwt.MapClaims{
		"expired":    {"userId": uuid.NewString(), "exp": time.Now().Add(-time.Second).Unix()},
		"no exp":     {"userId": uuid.NewString()},
		"no UUID":    {"userId": "anne", "exp": hour},
		"no user":    {"exp": hour},
		"a number":   {"userId": 42, "exp": hour},
		"exp a text": {"userId": uuid.NewString(), "exp": "3000-01-01"},
	} {
		token := tokenstest.Signed(t, jwt.SigningMethodHS256, testSecret, c, nil)
		if status := r.as(token, "GET", "/message/batches", "").StatusCode; status != 401 {
			t.Errorf("%s: status %d", name, status)
		}
	}
	own := tokenstest.Signed(t, jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"userId": uuid.NewString(), "exp": hour}, nil)
	if status := r.as(own, "GET", "/message/batches", "").StatusCode; status != 200 {
		t.Errorf("a token that another system made: status %d", status)
	}
}

func TestExpiredInstanceTokenIs401UntilReissued(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	in, err := r.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	expired, err := tokens.ForInstance(testSecret, "a", time.Minute, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.registry.SetToken(t.Context(), in.ID, "", expired); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.as(expired, "GET", "/instance/a", ""), 401, "UNAUTHORIZED")
	wantError(t, r.as(expired, "PUT", "/instance/refreshToken/a", `{"oldToken":"`+expired+`"}`), 401, "UNAUTHORIZED")
	fresh := decoded[instances.RotatedToken](t, r.admin("PUT", "/instance/a/token", ""))
	if status := r.as(fresh.Token, "GET", "/instance/a", "").StatusCode; status != 200 {
		t.Errorf("the new token: %d", status)
	}
}

func TestWebhookURLIsLimitedTo500Characters(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	url := func(n int) string {
		return "https://example.org/" + strings.Repeat("ü", n-len("https://example.org/"))
	}
	if res := r.as(token, "PUT", "/instance/a/webhook", `{"url":"`+url(500)+`"}`); res.StatusCode != 200 {
		t.Errorf("500 characters: %d", res.StatusCode)
	}
	wantError(t, r.as(token, "PUT", "/instance/a/webhook", `{"url":"`+url(501)+`"}`), 400, "INVALID_WEBHOOK")
}

func TestAWebhookURLIsWholeAndHTTP(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	for _, url := range []string{
		"", " ", "/path", "example.org", "//example.org", "http://", "https:///x", "file:///etc/passwd", "javascript:alert(1)",
		"http://user@example.org", "http://:x@example.org", "http://[::1", "http://exa mple.org", "ws://example.org",
	} {
		b := wantError(t, r.as(token, "PUT", "/instance/a/webhook", `{"url":"`+url+`"}`), 400, "INVALID_WEBHOOK")
		if !strings.Contains(b.Messages[0], "url") {
			t.Errorf("%q: the message does not name the field: %q", url, b.Messages)
		}
	}
	wantError(t, r.as(token, "GET", "/instance/a/webhook", ""), 404, "WEBHOOK_NOT_FOUND")
	for _, url := range []string{"HTTPS://example.org", "http://[::1]:8080/x?y=z", "http://127.0.0.1"} {
		if res := r.as(token, "PUT", "/instance/a/webhook", `{"url":"`+url+`"}`); res.StatusCode != 200 {
			t.Errorf("%s: %d", url, res.StatusCode)
		}
	}
}

// TestNullIsNoChangeOfAWebhook: null for the url, the flags or one of them leaves the former value.
func TestNullIsNoChangeOfAWebhook(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	wantError(t, r.as(token, "PUT", "/instance/a/webhook", `{"url":null}`), 400, "INVALID_WEBHOOK")
	first := `{"url":"https://example.org","enabled":false,"events":{"callUpsert":true}}`
	if res := r.as(token, "PUT", "/instance/a/webhook", first); res.StatusCode != 200 {
		t.Fatal(res.StatusCode)
	}
	w := decoded[webhooks.Webhook](t, r.as(token, "PUT", "/instance/a/webhook", `{"url":null,"enabled":null,"events":null}`))
	if w.URL != "https://example.org" || !w.Enabled || !w.Events["callUpsert"] {
		t.Errorf("%+v", w)
	}
	w = decoded[webhooks.Webhook](t, r.as(token, "PUT", "/instance/a/webhook", `{"events":{"callUpsert":null,"sendMessage":true}}`))
	if len(w.Events) != 1 || !w.Events["sendMessage"] {
		t.Errorf("%+v", w)
	}
	wantError(t, r.as(token, "PUT", "/instance/a/webhook", `{"events":{"callUpset":null}}`), 400, "UNKNOWN_FIELD")
}

func TestReadyAnswerHasRetryAfter(t *testing.T) {
	a := newRigOnDisk(t, 1<<62)
	res := do(a.h, httptest.NewRequest("GET", "/ready", nil))
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("got %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
}

// TestClockCorrectionKeepsInstanceToken: the clock was a day ahead when the token was issued.
func TestClockCorrectionKeepsInstanceToken(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	in, err := r.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	token := tokenstest.Signed(t, jwt.SigningMethodHS256, testSecret, jwt.MapClaims{
		"instanceName": "a", "iat": time.Now().Add(24 * time.Hour).Unix(), "jti": uuid.NewString(),
	}, nil)
	if _, err := r.registry.SetToken(t.Context(), in.ID, "", token); err != nil {
		t.Fatal(err)
	}
	if status := r.as(token, "GET", "/instance/a", "").StatusCode; status != 200 {
		t.Errorf("status %d", status)
	}
}
