package docs

import "testing"

// TestPageCommandsWork runs them in order against a fresh
// program, as the page of the interface has it.
func TestPageCommandsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for page, least := range map[string]int{"batches.md": 12, "accounts.md": 25, "delivery.md": 18, "notify.md": 10} {
		t.Run(page, func(t *testing.T) { readerOf(t, page, least).follow(t) })
	}
}
