package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFoldersMatchTheArchitecturePage compares the folders with the table of docs/architecture.md
// and keeps everything else of the program, its tests too, out of the top level.
func TestFoldersMatchTheArchitecturePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| Folder | Holds |")
	table, _, _ = strings.Cut(table, "\n\n")
	said := map[string]bool{}
	for _, name := range regexp.MustCompile("`([a-z0-9]+)/`").FindAllStringSubmatch(table, -1) {
		said[name[1]] = true
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, ".") || name == "bin" || name == "dist" || name == "data": // what building and running leave
		case e.IsDir() && !said[name]:
			t.Errorf("%s/ is not in the table of docs/architecture.md", name)
		case strings.HasSuffix(name, ".go") && name != "main.go":
			t.Errorf("%s lies at the top; it belongs into a folder", name)
		}
		delete(said, name)
	}
	for name := range said {
		t.Errorf("docs/architecture.md names %s/, which does not exist", name)
	}
}
