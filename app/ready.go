package app

import (
	"context"
	"time"
)

// stalled is how long a loop of the relay may be inactive before the program is
// not ready.
const stalled = time.Minute

// notReady returns the reasons why the program is not ready. The
// API checks the store itself.
func (a *App) notReady() (reasons []string) {
	if time.Since(a.relay.Stats().LastTurn) > stalled {
		reasons = append(reasons, "the webhook relay is stalled")
	}
	return reasons
}

// Stuck returns the stalled loops, for which only a restart may help; nothing when
// all run. Unlike readiness it does not check the free space of the disk.
func (a *App) Stuck(ctx context.Context) (reasons []string) {
	if !a.leads() {
		return nil // it waits for the database or for its turn, and a restart would not help
	}
	reasons = a.notReady()
	if err := a.store.Probe(ctx); err != nil {
		reasons = append(reasons, err.Error())
	}
	return reasons
}
