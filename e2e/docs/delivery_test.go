package docs

import "testing"

// TestEveryCommandOfTheDeliveryPageDoesWhatThePageSays runs them in order against a
// fresh program, as the page of the interface has it.
func TestEveryCommandOfTheDeliveryPageDoesWhatThePageSays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	commands, r := commandsOf(t, "delivery.md", 18)
	for _, c := range commands {
		r.run(t, c)
	}
	r.Stop()
}
