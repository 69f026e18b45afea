package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// stage serves the page with testdata/stage.js and stage_keep.js before its modules, and the scripts
// of tests after it, under the page's own policy.
func stage(t *testing.T, scripts ...string) string {
	t.Helper()
	mux := http.NewServeMux()
	for path, page := range Pages() {
		if path != "/" {
			mux.Handle(path, page)
		}
	}
	inject := ""
	for _, name := range append([]string{"stage.js", "stage_keep.js", "stage_talk.js"}, scripts...) {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/"+name) })
		inject += `<script src="` + name + `"></script>`
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		page, err := source("console/index.html")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Security-Policy", Policy())
		_, _ = w.Write([]byte(strings.Replace(string(page), `<script type="module"`, inject+`<script type="module"`, 1)))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}
