package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"
)

// patience is what a browser gets on a machine that has much else to do.
const patience = time.Minute

// flags are those of every start.
var flags = []string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"}

// Result is what a walk reports about its page: how many steps it made, and which
// rules it found broken.
type Result struct {
	Steps int
	Found []string
}

// Walk opens a page that a script walks through, and returns what the script
// left in the attribute data-walked. The browser's clock skips the pauses, so
// that it takes seconds. args are more flags of the browser. It skips the test
// where no browser runs.
func Walk(t *testing.T, url string, args ...string) Result {
	t.Helper()
	path := Find(t)
	dom, err := dump(t.Context(), path, url, args...)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	shown := regexp.MustCompile(`data-walked="([^"]*)"`).FindSubmatch(dom)
	if shown == nil {
		t.Fatalf("the walk did not come to its end: %.3000s", dom)
	}
	var result Result
	if err := json.Unmarshal([]byte(html.UnescapeString(string(shown[1]))), &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// dump returns what the page has become when its scripts are done.
func dump(ctx context.Context, path, url string, args ...string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "browser")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, slices.Concat(flags, []string{
		"--user-data-dir=" + folder, "--virtual-time-budget=600000", "--dump-dom", url,
	}, args)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", url, err)
	}
	return out, nil
}

// found is the path of a browser that can open an empty page here, empty when
// there is none.
var found = sync.OnceValue(func() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			if _, err := dump(context.Background(), path, "about:blank"); err == nil {
				return path
			}
		}
	}
	return ""
})

// Find returns the path of a browser that runs here, and skips the test when
// there is none.
func Find(t *testing.T) string {
	t.Helper()
	path := found()
	if path == "" {
		t.Skip("needs a chromium that runs")
	}
	return path
}
