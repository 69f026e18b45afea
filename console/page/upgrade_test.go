package page

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"postern/e2e/browser"
)

// TestTabOfOlderReleaseReloads when it needs a page that it has not loaded, and stays at its address. While a
// proxy answers with an error page, the tab stays as it is.
func TestTabOfOlderReleaseReloads(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	const next = "0123456789abcdef"
	var upgraded, failing atomic.Bool
	old, err := http.NewRequestWithContext(t.Context(), http.MethodGet, stage(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mine, path := release(), r.URL.Path
		switch {
		case failing.Load():
			http.Error(w, "<h1>502 Bad Gateway</h1>", http.StatusBadGateway)
			return
		case upgraded.Load() && strings.Contains(path, mine):
			http.NotFound(w, r)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, old.URL.String()+strings.Replace(path, next, mine, 1), nil)
		if err != nil {
			t.Error(err)
			return
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		var body bytes.Buffer
		if _, err := body.ReadFrom(res.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		w.WriteHeader(res.StatusCode)
		raw := body.Bytes()
		if upgraded.Load() {
			raw = bytes.ReplaceAll(raw, []byte(mine), []byte(next))
		}
		_, _ = w.Write(raw)
	}))
	t.Cleanup(server.Close)

	page := browser.Open(t).Page()
	page.Go(server.URL + "/?scene=three#/overview")
	page.Await(`document.querySelector("main h1")`)
	failing.Store(true)
	page.Run(`location.hash = "#/keys"`)
	page.Await(`document.querySelector("main [role=alert]")?.textContent.includes("No answer from")`)
	failing.Store(false)
	page.Run(`location.hash = "#/overview"`)
	page.Await(`performance.now() > 2000`)
	upgraded.Store(true)
	page.Run(`location.hash = "#/audit"`)
	page.Await(`document.querySelector("main h1")?.textContent === "Audit"`)
	if loaded := page.Text(`performance.getEntriesByType("resource").map((one) => one.name).filter((name) => name.includes("/dashboard/") && name.endsWith(".js")).join(" ")`); strings.Contains(loaded, release()) || !strings.Contains(loaded, next) {
		t.Errorf("the page has %s", loaded)
	}
}
