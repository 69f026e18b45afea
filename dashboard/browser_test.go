package dashboard

import (
	"testing"

	"postern/e2e/browser"
)

// TestThePageInABrowser runs testdata/walk.js and walk_keep.js in the page, on the stage. The
// browser's clock skips the pauses, so it takes seconds.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	result := browser.Walk(t, stage(t, "walk_keep.js", "walk.js")+"/")
	for _, rule := range result.Found {
		t.Error(rule)
	}
	if result.Steps == 0 {
		t.Error("nothing was walked")
	}
}
