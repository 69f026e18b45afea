package httpapi

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/httpapi/rest"
	"postern/httpapi/tokens"
	"postern/internal/peers"
)

// guarded is an interface that accepts perMinute wrong credentials, trusts 10.0.0.0/8, and has the routes of the table with
// handlers that do nothing.
func guarded(t *testing.T, logs *bytes.Buffer, perMinute int) *rest.Server {
	t.Helper()
	proxies, err := peers.ParseProxies([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	a := bare(logs, rest.Route{Method: "GET", Path: "/key", Auth: rest.GlobalKey, Right: rest.Never, Handle: ok}, rest.Route{Method: "GET", Path: "/user", Auth: rest.UserBearer, Right: rest.Never, Handle: ok})
	a.Proxies, a.Failures = proxies, peers.NewFailures(perMinute)
	return a
}

// from sends a request from an address.
func from(a http.Handler, address, path string, header ...string) *http.Response {
	req := httptest.NewRequest("GET", path, nil)
	req.RemoteAddr = address
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return do(a, req)
}

func TestTenWrongCredentialsAMinuteCause429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		a := guarded(t, &logs, 10)
		for range 10 {
			wantError(t, from(a, "203.0.113.5:1", "/key", "apikey", "wrong"), 401, "UNAUTHORIZED")
			time.Sleep(time.Second)
		}
		res := from(a, "203.0.113.5:2", "/key", "x-api-key", "wrong")
		wantError(t, res, 429, "TOO_MANY_FAILURES")
		if got := res.Header.Get("Retry-After"); got != "50" {
			t.Errorf("Retry-After %q, want what is left of the minute", got)
		}
		wantError(t, from(a, "203.0.113.5:3", "/user", "Authorization", "Bearer wrong"), 429, "TOO_MANY_FAILURES")
		if res := from(a, "203.0.113.5:4", "/key", "apikey", testKey); res.StatusCode != 200 {
			t.Errorf("the right key: %d", res.StatusCode)
		}
		token, err := tokens.ForUser(testSecret, uuid.New(), time.Hour, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if res := from(a, "203.0.113.5:4", "/user", "Authorization", "Bearer "+token); res.StatusCode != 200 {
			t.Errorf("a right token: %d", res.StatusCode)
		}
		wantError(t, from(a, "203.0.113.6:1", "/key", "apikey", "wrong"), 401, "UNAUTHORIZED")
		time.Sleep(50 * time.Second)
		wantError(t, from(a, "203.0.113.5:5", "/key", "apikey", "wrong"), 401, "UNAUTHORIZED")
		if wrong, limited := a.Failures.Stats(); wrong != 12 || limited != 2 {
			t.Errorf("counted %d wrong and %d limited", wrong, limited)
		}
		if n := strings.Count(logs.String(), "level=WARN"); n != 2 { // at the tenth, and at the next tenth
			t.Errorf("%d warnings:\n%s", n, logs.String())
		}
	})
}

// TestAMissingCredentialIsNoGuess: monitors and browsers send requests without one.
func TestAMissingCredentialIsNoGuess(t *testing.T) {
	a := guarded(t, &bytes.Buffer{}, 1)
	for range 5 {
		wantError(t, from(a, "203.0.113.5:1", "/key"), 401, "UNAUTHORIZED")
		wantError(t, from(a, "203.0.113.5:1", "/key", "apikey", ""), 401, "UNAUTHORIZED")
		wantError(t, from(a, "203.0.113.5:1", "/key", "Authorization", "Bearer of another route"), 401, "UNAUTHORIZED")
		wantError(t, from(a, "203.0.113.5:1", "/user"), 401, "UNAUTHORIZED")
		wantError(t, from(a, "203.0.113.5:1", "/nowhere", "apikey", "wrong"), 404, "NOT_FOUND")
	}
	wantError(t, from(a, "203.0.113.5:1", "/key", "apikey", "wrong"), 401, "UNAUTHORIZED")
	wantError(t, from(a, "203.0.113.5:1", "/key", "apikey", "wrong"), 429, "TOO_MANY_FAILURES")
	wantError(t, from(a, "203.0.113.5:1", "/key"), 401, "UNAUTHORIZED")
}

// TestEveryRouteWithACredentialCountsGuesses covers the whole table.
func TestEveryRouteWithACredentialCountsGuesses(t *testing.T) {
	r := newRig(t)
	a := r.api.Server
	revoked := r.instance("some-instance")
	r.admin("PUT", "/instance/some-instance/token", "")
	for _, row := range routes() {
		if row.Auth == rest.Public || row.Auth == rest.PortalLink { // whose secret cannot be guessed
			continue
		}
		a.Failures = peers.NewFailures(1)
		ask := func() *http.Response {
			req := httptest.NewRequest(row.Method, concrete(row.Path), nil)
			switch {
			case row.Auth == rest.GlobalKey:
				req.Header.Set("apikey", "wrong")
			case row.Path == "/ws/instance/events":
				req = handshakeOf(row.Path+"?event=*&token="+revoked, nil)
			case row.Auth == rest.Handshake:
				req = handshakeOf(row.Path+"?event=*&token=wrong", nil)
			case row.Auth == rest.InstanceBearer:
				req.Header.Set("Authorization", "Bearer "+revoked)
			default:
				req.Header.Set("Authorization", "Bearer wrong")
			}
			return do(r.h, req)
		}
		if first, second := ask().StatusCode, ask().StatusCode; first != 401 || second != 429 {
			t.Errorf("%s %s: %d and %d", row.Method, row.Path, first, second)
		}
	}
}

// TestRefusalLogLineHasTheClientsAddress before any text that the client sent.
func TestRefusalLogLineHasTheClientsAddress(t *testing.T) {
	var logs bytes.Buffer
	a := guarded(t, &logs, 10)
	for _, c := range []struct {
		remote, forwarded, path, want string
	}{
		{"203.0.113.5:1", "1.1.1.1", "/key", "address=203.0.113.5 credential=wrong code=UNAUTHORIZED "},
		{"10.0.0.1:1", "1.1.1.1, 198.51.100.9", "/key", "address=198.51.100.9 credential=wrong code=UNAUTHORIZED "},
		{"[2001:db8::7]:1", "", "/key", "address=2001:db8::7 credential=wrong code=UNAUTHORIZED "},
		{"203.0.113.5:1", "", "/nowhere", "address=203.0.113.5 code=NOT_FOUND "},
		{"203.0.113.5:1", "", "/user", "address=203.0.113.5 code=UNAUTHORIZED "}, // no token
	} {
		logs.Reset()
		from(a, c.remote, c.path, "X-Forwarded-For", c.forwarded, "apikey", "wrong", "x-request-id", `address=9.9.9.9`)
		if line := logs.String(); !strings.Contains(line, " msg=request "+c.want) {
			t.Errorf("%s %s: %s", c.remote, c.path, line)
		}
	}
	logs.Reset()
	from(a, "203.0.113.5:1", "/key", "apikey", testKey)
	if strings.Contains(logs.String(), "203.0.113.5") {
		t.Errorf("a success tells an address: %s", &logs)
	}
}

func TestRetryAfterIsWholeSecondsAboveZero(t *testing.T) {
	for wait, want := range map[time.Duration]int{1: 1, time.Second: 1, time.Second + 1: 2, 50 * time.Second: 50} {
		if got := rest.Bare(rest.Config{}).SecondsToWait(rest.Error{Code: rest.CodeTooManyFailures, Wait: wait}); got != want {
			t.Errorf("%v: %s", wait, strconv.Itoa(got))
		}
	}
}
