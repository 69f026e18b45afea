package webhooks

import (
	"testing"
	"time"

	"postern/event"
)

// TestFormerSecretExpiresDespiteClockAhead changes a signing secret under a clock that is ahead.
func TestFormerSecretExpiresDespiteClockAhead(t *testing.T) {
	right := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for until, n := range map[time.Duration]int{time.Hour: 2, SecretOverlap: 2, -time.Second: 1, 10 * 365 * 24 * time.Hour: 1} {
		a := access{Secrets: []signingSecret{{Text: "new"}, {Text: "former", Until: event.At(right.Add(until))}}}
		if is := a.inForce(right); len(is) != n {
			t.Errorf("%v left: signed with %q", until, is)
		}
	}
}
