package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"postern/httpapi/operator"
	"postern/internal/peers"
)

func TestCSRFIsRandomPerSession(t *testing.T) {
	r := newRig(t)
	s := r.signIn("apikey", testKey)
	m := hmac.New(sha256.New, []byte(s.cookie.Value))
	m.Write([]byte("postern csrf"))
	sum := sha256.Sum256([]byte(s.cookie.Value))
	for _, computed := range []string{base64.RawURLEncoding.EncodeToString(m.Sum(nil)), base64.RawURLEncoding.EncodeToString(sum[:]), s.cookie.Value} {
		if s.csrf == computed {
			t.Error("it can be made of the cookie")
		}
	}
	if other := r.signIn("apikey", testKey); other.csrf == s.csrf || len(s.csrf) < 32 {
		t.Errorf("%q and %q", s.csrf, other.csrf)
	}
	if shown := decoded[operator.ShownSession](t, s.ask("GET", "/session", "")); shown.CSRF != s.csrf {
		t.Errorf("GET /session: %q, want %q", shown.CSRF, s.csrf)
	}
}

// TestAllSessionsOfAnActorEnd, and none of another actor's.
func TestAllSessionsOfAnActorEnd(t *testing.T) {
	for name, how := range map[string]func(r *rig, first *signedIn, header, value string) *http.Response{
		"by a session": func(_ *rig, s *signedIn, _, _ string) *http.Response { return s.ask("DELETE", "/session?all=true", "") },
		"by the key": func(r *rig, _ *signedIn, header, value string) *http.Response {
			req := httptest.NewRequest("DELETE", "/session?all=true", nil)
			req.Header.Set(header, value)
			return do(r.h, req)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			k := r.newKey(`{"name":"k","instances":["*"],"scopes":["read"]}`)
			actors := [][2]string{{"apikey", testKey}, {"Authorization", "Bearer " + k.Key}}
			for i, actor := range actors {
				mine := []*signedIn{r.signIn(actor[0], actor[1]), r.signIn(actor[0], actor[1])}
				other := r.signIn(actors[1-i][0], actors[1-i][1])
				if res := how(r, mine[0], actor[0], actor[1]); res.StatusCode != 204 {
					t.Fatalf("%s: %s", res.Status, text(t, res))
				}
				for _, s := range mine {
					wantError(t, s.ask("GET", "/session", ""), 401, "UNAUTHORIZED")
				}
				if res := other.ask("GET", "/session", ""); res.StatusCode != 200 {
					t.Errorf("another actor's: %s", res.Status)
				}
			}
			for _, query := range []string{"?all=yes", "?every=true"} {
				if res := r.admin("DELETE", "/session"+query, ""); res.StatusCode != 400 {
					t.Errorf("%s: %s", query, res.Status)
				}
			}
			wantError(t, r.admin("DELETE", "/session?all=false", ""), 401, "UNAUTHORIZED")
		})
	}
}

// TestHTTPSCookiesBelongToTheHost: the browser accepts no __Host- cookie from a neighbouring host.
func TestHTTPSCookiesBelongToTheHost(t *testing.T) {
	r := newRig(t)
	trusted, err := peers.ParseProxies([]string{"192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, base, path string
		proxied, tls     bool
		want             string
	}{
		{"http", "", "", false, false, "postern_session"},
		{"http below a path", "", "/wa", false, false, "postern_session"},
		{"TLS", "", "", false, true, "__Host-postern_session"},
		{"public https", "https://postern.example.org", "", false, false, "__Host-postern_session"},
		{"trusted proxy", "", "", true, false, "__Host-postern_session"},
		{"TLS below a path", "", "/wa", false, true, "__Host-postern_session_"},
	} {
		r.api.BaseURL, r.api.BasePath, r.api.Proxies, r.api.operator.SignIns = c.base, c.path, nil, peers.NewFailures(0)
		if c.proxied {
			r.api.Proxies = trusted
		}
		ask := func(method, path string, cookie *http.Cookie) *http.Response {
			req := httptest.NewRequest(method, path, nil)
			req.Header.Set("X-Forwarded-Proto", "https") // counts from a trusted proxy alone
			if c.tls {
				req.TLS = &tls.ConnectionState{}
			}
			if cookie == nil {
				req.Header.Set("apikey", testKey)
			} else {
				req.AddCookie(cookie)
			}
			return do(r.h, req)
		}
		got := ask("POST", "/session", nil).Cookies()[0]
		secure := strings.HasPrefix(c.want, "__Host-")
		if got.Name != c.want && (c.path == "" || !strings.HasPrefix(got.Name, c.want) || got.Name == c.want) || got.Secure != secure || got.Domain != "" || !got.HttpOnly ||
			secure && got.Path != "/" || !secure && got.Path != c.path+"/" {
			t.Errorf("%s: %+v", c.name, got)
		}
		if res := ask("GET", "/session", got); res.StatusCode != 200 {
			t.Errorf("%s: %s", c.name, res.Status)
		}
		if planted := (&http.Cookie{Name: "postern_session", Value: got.Value}); secure {
			wantError(t, ask("GET", "/session", planted), 401, "UNAUTHORIZED")
		}
	}
}

// TestAddressBeginsTenSessionsAMinute, and a refused one is not logged.
func TestAddressBeginsTenSessionsAMinute(t *testing.T) {
	r := newRig(t)
	ask := func(from string) *http.Response {
		req := httptest.NewRequest("POST", "/session", nil)
		req.Header.Set("apikey", testKey)
		req.RemoteAddr = from
		return do(r.h, req)
	}
	for i := range 30 {
		res := ask(fmt.Sprintf("192.0.2.7:%d", 1000+i))
		if i < 10 {
			if res.StatusCode != 201 {
				t.Fatalf("session %d: %s", i, res.Status)
			}
			continue
		}
		wantError(t, res, 429, "RATE_LIMITED")
		if res.Header.Get("Retry-After") == "" || len(res.Cookies()) > 0 {
			t.Errorf("%v", res.Header)
		}
	}
	if res := ask("192.0.2.8:1"); res.StatusCode != 201 {
		t.Errorf("another address: %s", res.Status)
	}
	list := decoded[operator.AuditList](t, r.admin("GET", "/audit?action=session", ""))
	if n := len(list.Records); n != 11 || slices.ContainsFunc(list.Records, func(a operator.AuditRecord) bool { return a.Action != "session.create" }) {
		t.Errorf("%d records", n)
	}
}
