package cli

import (
	"os"
	"strings"
	"testing"
)

// TestOperationPageListsEveryCommand compares the commands with the table of docs/operation.md.
func TestOperationPageListsEveryCommand(t *testing.T) {
	page, err := os.ReadFile("../docs/operation.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "\n## Commands\n")
	if !found {
		t.Fatal("docs/operation.md has no section Commands")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	for _, c := range commands() {
		if !strings.Contains(table, "| `postern "+c.Name()) {
			t.Errorf("the table has no row for `postern %s`", c.Name())
		}
	}
}
