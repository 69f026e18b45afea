package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/event"
)

// TestLinksBeginWithThePublicAddress: server.base_url if it is set, else the Host of the call.
func TestLinksBeginWithThePublicAddress(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	for _, c := range []struct{ base, path, want string }{
		{"", "", "http://example.com/media/"},
		{"", "/postern", "http://example.com/postern/media/"},
		{"https://files.example.org", "", "https://files.example.org/media/"},
		{"https://files.example.org/postern", "/postern", "https://files.example.org/postern/media/"},
	} {
		r.api.BaseURL, r.api.BasePath = c.base, c.path
		l := decoded[event.MediaLink](t, r.as(token, "POST", fmt.Sprintf("/instance/a/messages/%d/media/link", id), ``))
		if !strings.HasPrefix(l.URL, c.want) {
			t.Errorf("base %q, path %q: %s", c.base, c.path, l.URL)
		}
	}
}

// TestLifeOfALink: 60 seconds to a year, a week when none is given.
func TestLifeOfALink(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	for body, seconds := range map[string]int{`{"expiresIn":60}`: 60, `{"expiresIn":31536000}`: 31_536_000, `{}`: 7 * 86_400, ``: 7 * 86_400} {
		_, l := r.mediaLink(t, token, id, body)
		want := time.Duration(seconds) * time.Second
		if left := time.Until(l.ExpiresAt.Time); left > want || left < want-30*time.Second {
			t.Errorf("%s: %v", body, left)
		}
	}
	path, _ := r.mediaLink(t, token, id, `{"expiresIn":60}`)
	var age int
	if _, err := fmt.Sscanf(r.ask("", "HEAD", path).Header.Get("Cache-Control"), "private, max-age=%d", &age); err != nil || age > 60 {
		t.Errorf("%d, %v", age, err)
	}
}

// TestErrorsOfFilesAreGuarded: each has the headers of a file, and is not to be cached.
func TestErrorsOfFilesAreGuarded(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	text := r.keep(t, received("T1", anne, ""))
	path := fmt.Sprintf("/instance/a/messages/%d/media", id)
	link, _ := r.mediaLink(t, token, id, ``)
	r.line.online.Store(false)
	for _, c := range []struct {
		token, path string
		status      int
	}{
		{"", path, 401},
		{token, path, 503},
		{token, path + "?x=1", 400},
		{token, "/instance/a/messages/99/media", 404},
		{token, fmt.Sprintf("/instance/a/messages/%d/media", text), 422},
		{"", link, 503},
		{"", "/media/forged", 404},
		{"", "/media/", 404},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			res := r.ask(c.token, method, c.path)
			h := res.Header
			if res.StatusCode != c.status || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s: %d %v", method, c.path, res.StatusCode, h)
			}
			if c.status == 401 || c.path == "/media/" { // decided before the route
				continue
			}
			public := strings.HasPrefix(c.path, "/media/")
			if h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" || h.Get("Referrer-Policy") != "no-referrer" || (h.Get("X-Robots-Tag") != "") != public || (h.Get("Access-Control-Allow-Origin") == "*") != public {
				t.Errorf("%s %s: %v", method, c.path, h)
			}
		}
	}
}

// TestFilesAreNotCompressed, nor is the secret of a link in the log: its path is shortened.
func TestFilesAreNotCompressed(t *testing.T) {
	r, token, d := doing(t)
	text := strings.Repeat("the same words ", 1_000)
	id := r.keepFile(t, d, "D1", "documentMessage", text, `{"fileName":"a.txt"}`)
	path, _ := r.mediaLink(t, token, id, ``)
	for credential, path := range map[string]string{token: fmt.Sprintf("/instance/a/messages/%d/media", id), "": path + "?secret=words"} {
		res := r.ask(credential, http.MethodGet, path, "Accept-Encoding", "gzip, br")
		if got := bodyOf(t, res); res.StatusCode != 200 || got != text || res.Header.Get("Content-Encoding") != "" || res.Header.Get("Content-Length") != fmt.Sprint(len(text)) {
			t.Errorf("%s: %d, %d bytes %v", path, res.StatusCode, len(got), res.Header)
		}
	}
	if logged := r.text(); strings.Contains(logged, strings.Split(path, "/")[2]) || strings.Contains(logged, "secret") || !strings.Contains(logged, "/media/") {
		t.Errorf("the log: %s", logged)
	}
}
