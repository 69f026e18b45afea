package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	linkPattern   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	noSlugPattern = regexp.MustCompile(`[^a-z0-9 _-]`)
	fencePattern  = regexp.MustCompile("(?ms)^```.*?^```$")
)

// TestEveryLinkOfTheDocumentsLeadsSomewhere holds links between the documents,
// and to their headings, to what is there.
func TestEveryLinkOfTheDocumentsLeadsSomewhere(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md", "BENCHMARKS.md") {
		for _, link := range linkPattern.FindAllStringSubmatch(prose(t, page), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(link[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, link[1], err)
			} else if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", page, link[1])
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d links were found", checked)
	}
}

// prose returns a document without its examples.
func prose(t *testing.T, page string) string {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return fencePattern.ReplaceAllString(string(raw), "")
}

// anchors returns the names of a document's headings, as they are commonly made.
func anchors(t *testing.T, page string) (all []string) {
	t.Helper()
	for line := range strings.Lines(prose(t, page)) {
		if strings.HasPrefix(line, "#") {
			title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
			all = append(all, strings.ReplaceAll(noSlugPattern.ReplaceAllString(title, ""), " ", "-"))
		}
	}
	return all
}
