package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"postern/event"
)

// TestHEADIsAnsweredAsGETWithoutTheBody: the method, the credential and the resource are checked as for GET, and the
// headers are those of its answer, also over the network.
func TestHEADIsAnsweredAsGETWithoutTheBody(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.instance("b")
	server := httptest.NewServer(r.h)
	defer server.Close()
	ask := func(method, path string, header [2]string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if header[0] != "" {
			req.Header.Set(header[0], header[1])
		}
		res, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	bearer, key := [2]string{"Authorization", "Bearer " + token}, [2]string{"Apikey", testKey}
	for _, c := range []struct {
		path   string
		header [2]string
		status int
	}{
		{"/health", [2]string{}, 200},
		{"/health/", [2]string{}, 200},
		{"/ready", [2]string{}, 200},
		{"/openapi.json", [2]string{}, 200},
		{"/docs", [2]string{}, 200},
		{"/instance", [2]string{}, 401},
		{"/instance", key, 200},
		{"/instance/fetchInstances", key, 200},
		{"/instance/create", key, 200},
		{"/instance/a", bearer, 200},
		{"/instance/a", [2]string{}, 401},
		{"/instance/b", bearer, 403},
		{"/instance/a/connection/status", bearer, 200},
		{"/instance/connectionState/a", bearer, 200},
		{"/instance/a/webhook", bearer, 404},
		{"/webhook/find/a", bearer, 404},
		{"/webhook/deliveries?limit=0", key, 400},
		{"/nothing", [2]string{}, 404},
		{"/ws/console", key, 405},
		{"/instance/a/connect", bearer, 405},
		{"/instance/connect/a", bearer, 405},
		{"/instance/a/connect/code/4915112345678", bearer, 405},
		{"/instance/a/qr.png", bearer, 405},
		{"/instance/a/send/text", bearer, 405},
	} {
		head, none := ask(http.MethodHead, c.path, c.header)
		if head.StatusCode != c.status || none != "" {
			t.Errorf("HEAD %s: %s with %q, want %d", c.path, head.Status, none, c.status)
		}
		allows := slices.Contains(strings.Split(head.Header.Get("Allow"), ", "), "HEAD")
		if head.StatusCode == 405 && (allows || head.Header.Get("Allow") == "") || head.StatusCode != 405 && head.Header.Get("Allow") != "" {
			t.Errorf("HEAD %s: %s allows %q", c.path, head.Status, head.Header.Get("Allow"))
		}
		if c.status == 405 {
			continue
		}
		get, body := ask(http.MethodGet, c.path, c.header)
		if get.StatusCode != c.status || body == "" {
			t.Errorf("GET %s: %s with %q", c.path, get.Status, body)
		}
		for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "X-Content-Type-Options", "Www-Authenticate", "Content-Security-Policy"} {
			if name == "Content-Length" && !strings.HasPrefix(c.path, "/openapi") && c.status == 200 && c.path != "/health" {
				continue // what is in it may differ from moment to moment
			}
			if got, want := head.Header.Get(name), get.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q of HEAD, %q of GET", c.path, name, got, want)
			}
		}
	}
	if rec, err := r.registry.ByName("a"); err != nil || rec.Status != event.Offline {
		t.Errorf("the instance is %+v after HEAD, %v", rec, err)
	}
	if res, _ := ask(http.MethodPut, "/health", [2]string{}); res.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("Allow is %q", res.Header.Get("Allow"))
	}
}
