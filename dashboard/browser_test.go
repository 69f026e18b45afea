package dashboard

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestThePageInABrowser runs testdata/walk.js in the page under the page's own
// policy. The browser's clock skips the pauses, so it takes seconds.
func TestThePageInABrowser(t *testing.T) {
	server := httptest.NewServer(walked())
	defer server.Close()
	browser := chromium(t)
	dom, err := browse(t, browser, server.URL)
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	told := regexp.MustCompile(`data-walked="([^"]*)"`).FindSubmatch(dom)
	if told == nil {
		t.Fatalf("the walk did not come to its end:\n%s", dom)
	}
	var result struct {
		Steps int
		Found []string
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(string(told[1]))), &result); err != nil {
		t.Fatal(err)
	}
	for _, rule := range result.Found {
		t.Error(rule)
	}
	if result.Steps == 0 {
		t.Error("nothing was walked")
	}
}

// walked is the page with the walk in front of its script.
func walked() http.Handler {
	mux := http.NewServeMux()
	for path, page := range Pages() {
		mux.Handle(path, page)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		page, err := files.ReadFile("index.html")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		script := `<script src="/dashboard/app.js"`
		_, _ = w.Write([]byte(strings.Replace(string(page), script, `<script src="/walk.js" defer></script>`+script, 1)))
	})
	mux.HandleFunc("GET /walk.js", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "testdata/walk.js")
	})
	return mux
}

// browse returns what the page has become when its scripts are done.
func browse(t *testing.T, browser, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=600000", "--dump-dom", url)
	cmd.WaitDelay = 5 * time.Second
	return cmd.Output()
}

// chromium finds a browser that can open an empty page here.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			if _, err := browse(t, path, "about:blank"); err == nil {
				return path
			}
		}
	}
	t.Skip("needs a chromium that runs")
	return ""
}
