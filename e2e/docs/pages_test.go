package docs

import "testing"

// TestEveryCommandOfTheBatchPageDoesWhatThePageSays runs them in order against a
// fresh program, as the page of the interface has it.
func TestEveryCommandOfTheBatchPageDoesWhatThePageSays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	commands, r := commandsOf(t, "batches.md", 12)
	for _, c := range commands {
		r.run(t, c)
	}
	r.Stop()
}

// TestEveryCommandOfTheAccountsPageDoesWhatThePageSays does the same with what
// operators are told to try.
func TestEveryCommandOfTheAccountsPageDoesWhatThePageSays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	commands, r := commandsOf(t, "accounts.md", 25)
	for _, c := range commands {
		r.run(t, c)
	}
	r.Stop()
}
