package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"postern/httpapi/rest"
)

func TestOnlyNamedOriginsMayCall(t *testing.T) {
	r := newRig(t)
	const ours = "https://app.example.org"
	h := rest.AllowOrigins(r.h, []string{"https://other.example", ours})
	ask := func(h http.Handler, method, origin, preflight string) *http.Response {
		req := httptest.NewRequest(method, "/health", nil)
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		if preflight != "" {
			req.Header.Set("Access-Control-Request-Method", preflight)
		}
		return do(h, req)
	}
	allowed := func(res *http.Response) string { return res.Header.Get("Access-Control-Allow-Origin") }

	if res := ask(h, "GET", ours, ""); res.StatusCode != 200 || allowed(res) != ours || res.Header.Get("Vary") != "Origin" || !strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "Retry-After") {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	res := ask(h, "OPTIONS", ours, "PUT")
	if res.StatusCode != 204 || allowed(res) != ours || res.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	for _, header := range []string{"Authorization", "apikey", "x-api-key", "Content-Type", "Idempotency-Key", "Mcp-Session-Id", "Mcp-Protocol-Version"} {
		if !strings.Contains(res.Header.Get("Access-Control-Allow-Headers"), header) {
			t.Errorf("%s may not be sent", header)
		}
	}
	if res.Header.Get("x-request-id") == "" {
		t.Error("an answer without a request id")
	}
	for _, r := range routes() {
		if !strings.Contains(res.Header.Get("Access-Control-Allow-Methods"), r.Method) {
			t.Errorf("%s may not be sent", r.Method)
		}
	}
	for _, origin := range []string{"", "null", "https://app.example.org.evil.example", "http://app.example.org", "https://app.example.org:444", "https://APP.example.org", "*"} {
		for _, method := range []string{"GET", "OPTIONS"} {
			if res := ask(h, method, origin, "PUT"); allowed(res) != "" || res.StatusCode != map[string]int{"GET": 200, "OPTIONS": 405}[method] {
				t.Errorf("%q: %d %v", origin, res.StatusCode, res.Header)
			}
		}
	}
	if res := ask(h, "OPTIONS", ours, ""); res.StatusCode != 405 {
		t.Errorf("OPTIONS that asks for nothing: %d", res.StatusCode)
	}
	if res := ask(rest.AllowOrigins(r.h, nil), "GET", ours, ""); allowed(res) != "" {
		t.Errorf("by default: %v", res.Header)
	}
	// Pages can read refusals too.
	req := httptest.NewRequest("GET", "/instance/shop", nil)
	req.Header.Set("Origin", ours)
	if res := do(h, req); res.StatusCode != 401 || allowed(res) != ours {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
}
