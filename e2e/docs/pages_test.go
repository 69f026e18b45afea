package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageCommandsWork runs them in order against a fresh
// program, as the page of the interface has it.
func TestPageCommandsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for page, least := range map[string]int{"batches.md": 21, "accounts.md": 25, "delivery.md": 18, "notify.md": 10} {
		t.Run(page, func(t *testing.T) { readerOf(t, page, least).follow(t) })
	}
}

func TestBatchPageShowsTheFileThatIsSent(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "batches.md"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join("media", "testdata", "people.csv"))
	if err != nil || !strings.Contains(string(page), "This is `people.csv`:\n\n```\n"+string(file)+"```\n") {
		t.Errorf("docs/batches.md does not have people.csv, %v", err)
	}
}
