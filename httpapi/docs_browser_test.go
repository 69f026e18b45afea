package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"postern/e2e/browser"
)

// TestThePageOfTheInterfaceInABrowser runs testdata/docs_walk.js in the page,
// under the page's own policy, in a wide window and in a narrow, dark one.
func TestThePageOfTheInterfaceInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a browser")
	}
	for name, args := range map[string][]string{
		"wide":            {"--window-size=1300,900"},
		"narrow and dark": {"--window-size=500,900", "--blink-settings=preferredColorScheme=0"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(walked(newRig(t).api))
			defer server.Close()
			result := browser.Walk(t, server.URL+pathDocs, args...)
			for _, rule := range result.Found {
				t.Error(rule)
			}
			if result.Steps < 500 {
				t.Errorf("only %d steps were walked", result.Steps)
			}
		})
	}
}

// walked serves the interface, with the test's script after the script of its page.
func walked(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != pathDocs {
			h.ServeHTTP(w, r)
			return
		}
		walk, err := os.ReadFile("testdata/docs_walk.js")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		walk = fmt.Appendf(nil, "const apiKey = %q;\n%s", testKey, walk)
		sum := sha256.Sum256(walk)
		res := do(h, httptest.NewRequest(http.MethodGet, pathDocs, nil))
		policy := res.Header.Get("Content-Security-Policy")
		w.Header().Set("Content-Security-Policy", strings.Replace(policy, "script-src ", "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"' ", 1))
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		_, _ = io.Copy(w, res.Body)
		_, _ = fmt.Fprintf(w, "<script>%s</script>", walk)
	})
}
