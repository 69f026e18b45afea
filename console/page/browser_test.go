package page

import (
	"fmt"
	"strings"
	"testing"

	"postern/e2e/browser"
)

// TestThePageInABrowser runs testdata/walk.js and walk_keep.js in the page, on the stage. The
// browser uses virtual time, so it takes seconds.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	result := browser.Walk(t, stage(t, "walk_keep.js", "walk.js")+"/")
	for _, rule := range result.Found {
		t.Error(rule)
	}
	if result.Steps == 0 {
		t.Error("no step ran")
	}
}

// TestHandsInABrowser runs testdata/walk_hands.js (focus, drafts, Back, waiting, what a key
// may not see), walk_events.js and walk_fleet.js (receivers, the table of instances).
func TestHandsInABrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	for _, script := range []string{"walk_hands.js", "walk_events.js", "walk_fleet.js"} {
		result := browser.Walk(t, stage(t, script, "walk.js")+"/")
		for _, rule := range result.Found {
			t.Error(rule)
		}
		if result.Steps == 0 {
			t.Errorf("no step of %s ran", script)
		}
	}
}

// TestChatsAndBatchesInABrowser runs testdata/walk_talk.js in the page, step by step.
func TestChatsAndBatchesInABrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("walks in real time")
	}
	url, page := stage(t, "walk_talk.js"), browser.Open(t).Page()
	page.Size(1280, 800, false)
	page.Go(url + "/?scene=three")
	page.Run(`stage.settled()`)
	names := strings.Split(page.Text(`walk.names.join("\n")`), "\n")
	if len(names) < 10 {
		t.Fatalf("only the steps %q", names)
	}
	for _, name := range names {
		if found := page.Text(fmt.Sprintf("walk.run(%q).then((found) => found.join(`\n`))", name)); found != "" {
			t.Errorf("%s: %s", name, found)
		}
	}
}
