package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestEveryCommandOfTheBatchPageDoesWhatThePageSays runs them in order against a
// fresh program, as the page of the interface has it.
func TestEveryCommandOfTheBatchPageDoesWhatThePageSays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	page, err := os.ReadFile(filepath.Join("docs", "batches.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := docCommands(t, string(page))
	if len(commands) < 12 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	r := newReader(t)
	for _, c := range commands {
		r.run(t, c)
	}
	r.stop()
}
