package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// Result is the report of a walk: the number of its steps and the broken rules.
type Result struct {
	Steps int
	Found []string
}

// Walk opens a page that a script walks through, and returns what the script left in the
// attribute data-walked. The browser's clock skips the pauses, so that it takes seconds;
// over the DevTools protocol the clock runs hours ahead of the page's own work. args are
// more flags of the browser. It skips the test if there is no browser.
func Walk(t *testing.T, url string, args ...string) Result {
	t.Helper()
	path := Find(t)
	dom, err := dump(t.Context(), time.Minute, path, url, args...)
	if err != nil { // of ten to thirty starts with such a clock, one does not end
		t.Logf("started again: %v", err)
		dom, err = dump(t.Context(), patience, path, url, args...)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	walked := regexp.MustCompile(`data-walked="([^"]*)"`).FindSubmatch(dom)
	if walked == nil {
		t.Fatalf("the walk did not come to its end: %.3000s", dom)
	}
	var result Result
	if err := json.Unmarshal([]byte(html.UnescapeString(string(walked[1]))), &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// dump returns the document after its scripts have run.
func dump(ctx context.Context, limit time.Duration, path, url string, args ...string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "browser")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args = append(args, "--user-data-dir="+folder, "--virtual-time-budget=700000", "--dump-dom", url)
	for _, flag := range flags {
		args = append(args, "--"+flag)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", url, err)
	}
	return out, nil
}
