package app

import (
	"time"
)

// stalled is how long one of the relay's loops may be silent before the program is
// not ready.
const stalled = time.Minute

// notReady says why requests should go elsewhere, nothing when all is well. The
// interface asks the store by itself.
func (a *App) notReady() (reasons []string) {
	if time.Since(a.relay.Stats().LastTurn) > stalled {
		reasons = append(reasons, "the webhook relay is stalled")
	}
	return reasons
}
