package dashboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"postern/e2e/browser"
)

// TestThePageInABrowser runs testdata/walk.js in the page under the page's own
// policy. The browser's clock skips the pauses, so it takes seconds.
func TestThePageInABrowser(t *testing.T) {
	server := httptest.NewServer(walked())
	defer server.Close()
	result := browser.Walk(t, server.URL)
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
		script := `<script src="dashboard/app.js"`
		_, _ = w.Write([]byte(strings.Replace(string(page), script, `<script src="/walk.js" defer></script>`+script, 1)))
	})
	mux.HandleFunc("GET /walk.js", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "testdata/walk.js")
	})
	return mux
}
