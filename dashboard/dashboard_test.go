package dashboard

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestThePageLoadsNothingFromElsewhereAndRunsNothingInline(t *testing.T) {
	pages := Pages()
	for path, media := range map[string]string{
		"/": "text/html; charset=utf-8", "/dashboard/app.js": "text/javascript; charset=utf-8", "/dashboard/pairing.js": "text/javascript; charset=utf-8", "/dashboard/style.css": "text/css; charset=utf-8",
	} {
		rec := httptest.NewRecorder()
		pages[path].ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		body, err := io.ReadAll(rec.Body)
		if err != nil || rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != media {
			t.Errorf("%s: %d %s %v", path, rec.Code, rec.Header().Get("Content-Type"), err)
		}
		if rec.Header().Get("Content-Security-Policy") != policy {
			t.Errorf("%s has no policy", path)
		}
		// A link is followed by whoever wants to; it loads nothing.
		body = bytes.ReplaceAll(body, []byte(`<a href="https://web.whatsapp.com/" target="_blank" rel="noreferrer">`), nil)
		if found := regexp.MustCompile(`https?://|\son\w+=|style="|innerHTML|eval\(`).Find(body); found != nil {
			t.Errorf("%s has %q", path, found)
		}
	}
}

// TestEveryFileOfThePageIsServed follows the page's own references.
func TestEveryFileOfThePageIsServed(t *testing.T) {
	pages := Pages()
	raw, err := files.ReadFile("index.html")
	if err != nil {
		t.Fatal(err)
	}
	references := regexp.MustCompile(`(?:src|href)="([a-z][^":,]*)"`).FindAllStringSubmatch(string(raw), -1)
	for _, ref := range references {
		if pages["/"+ref[1]] == nil && ref[1] != "docs" {
			t.Errorf("the page refers to %s, which nobody serves", ref[1])
		}
	}
	for _, name := range []string{"app.js", "pairing.js"} {
		script, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range regexp.MustCompile(`(?:byId|show|on)\("([a-z]+)"`).FindAllStringSubmatch(string(script), -1) {
			if !strings.Contains(string(raw), `id="`+id[1]+`"`) {
				t.Errorf("%s looks for %s, which the page does not have", name, id[1])
			}
		}
	}
	if len(references) < 2 {
		t.Error("nothing was looked at")
	}
}
