package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// echo answers with the path of the request.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Path", r.URL.Path)
	w.Header().Set("Raw", r.URL.EscapedPath())
	w.Header().Set("Query", r.URL.RawQuery)
}

func TestPathsAreServedWithAndWithoutTheBase(t *testing.T) {
	h, err := Below(http.HandlerFunc(echo), "/a/postern")
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]struct{ path, raw string }{
		"/a/postern/instance/x":             {"/instance/x", "/instance/x"},
		"/instance/x":                       {"/instance/x", "/instance/x"}, // stripped by the proxy
		"/a/postern/":                       {"/", "/"},
		"/":                                 {"/", "/"},
		"/a/postern/instance/x%2Fy/connect": {"/instance/x/y/connect", "/instance/x%2Fy/connect"}, // still hidden
		"/a/postern/instance/%C3%A9":        {"/instance/é", "/instance/%C3%A9"},
		"/a/posternal/x":                    {"/a/posternal/x", "/a/posternal/x"},
		"/A/postern/x":                      {"/A/postern/x", "/A/postern/x"},
		"/a/postern/a/postern/x":            {"/a/postern/x", "/a/postern/x"}, // once
		"/a%2Fpostern/x":                    {"/a/postern/x", "/a%2Fpostern/x"},
		"/%61/postern/x%2Fy":                {"/a/postern/x/y", "/%61/postern/x%2Fy"}, // another spelling hides no slash
		"/a/postern//x":                     {"//x", "//x"},
	} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, target, nil)
		before := *r.URL
		h.ServeHTTP(rec, r)
		if got := rec.Header(); got.Get("Path") != want.path || got.Get("Raw") != want.raw {
			t.Errorf("%s: %s and %s, want %+v", target, got.Get("Path"), got.Get("Raw"), want)
		}
		if *r.URL != before {
			t.Errorf("%s: the request was changed", target)
		}
	}
}

func TestBaseLeadsToThePageBelowIt(t *testing.T) {
	h, err := Below(http.HandlerFunc(echo), "/postern")
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/postern?x=1", nil))
	if rec.Code != http.StatusPermanentRedirect || rec.Header().Get("Location") != "/postern/?x=1" || rec.Header().Get("x-request-id") == "" {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	rec = httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/postern", nil))
	if rec.Code != http.StatusOK || rec.Header().Get("Path") != "/" {
		t.Errorf("POST: %d %v", rec.Code, rec.Header())
	}
	if h, err := Below(http.HandlerFunc(echo), ""); err != nil || h == nil {
		t.Error(err)
	}
}

// TestBaseThatIsAnAPIPathIsRefused in any case, because legacy paths are case-insensitive.
func TestBaseThatIsAnAPIPathIsRefused(t *testing.T) {
	for _, base := range []string{"/instance", "/INSTANCE/x", "/docs", "/metrics", "/ws", "/sandbox/y", "/dashboard", "/mcp", "/chat", "/health", "/admin", "/openapi.json"} {
		if _, err := Below(http.HandlerFunc(echo), base); err == nil {
			t.Errorf("%s is taken", base)
		}
	}
}
