package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheTopLevelIsWhatTheReadmeSays holds the folders against the README's table,
// and keeps everything else of the program, its tests too, out of the top level.
func TestTheTopLevelIsWhatTheReadmeSays(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(readme), "| Folder | Holds |")
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
			t.Errorf("%s/ is not in the README's table", name)
		case strings.HasSuffix(name, ".go") && name != "main.go":
			t.Errorf("%s lies at the top; it belongs into a folder", name)
		}
		delete(said, name)
	}
	for name := range said {
		t.Errorf("the README names %s/, which is not there", name)
	}
}
