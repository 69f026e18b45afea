package app

import (
	"context"
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

// Stuck says what has stopped turning, and only a new start may help; nothing when
// all is well. Unlike readiness it does not ask whether there is room on the disk.
func (a *App) Stuck(ctx context.Context) (reasons []string) {
	reasons = a.notReady()
	if err := a.store.Probe(ctx); err != nil {
		reasons = append(reasons, err.Error())
	}
	return reasons
}
