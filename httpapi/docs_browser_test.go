package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestThePageOfTheInterfaceInABrowser runs testdata/docs_walk.js in the page,
// under the page's own policy, in a wide, a narrow and a dark window.
func TestThePageOfTheInterfaceInABrowser(t *testing.T) {
	browser := chromium(t)
	for name, args := range map[string][]string{
		"wide":   {"--window-size=1300,900"},
		"narrow": {"--window-size=500,900"},
		"dark":   {"--window-size=1300,900", "--blink-settings=preferredColorScheme=0"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(walked(newRig(t).api))
			defer server.Close()
			dom, err := browse(t, browser, server.URL+"/docs", args...)
			if err != nil {
				t.Fatalf("%s: %v", browser, err)
			}
			told := regexp.MustCompile(`data-walked="([^"]*)"`).FindSubmatch(dom)
			if told == nil {
				t.Fatalf("the walk did not come to its end: %.3000s", dom)
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
			if result.Steps < 500 {
				t.Errorf("only %d steps were walked", result.Steps)
			}
		})
	}
}

// walked is the interface with the walk behind the script of its page.
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

// browse returns what the page has become when its scripts are done.
func browse(t *testing.T, browser, url string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--user-data-dir=" + t.TempDir(), "--virtual-time-budget=600000", "--dump-dom", url,
	}, args...)...)
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
