package app

import (
	"context"
	"sync"

	"postern/httpapi/operator"
)

// endKeys continues with deletions of scoped keys that the end of the last run cut off.
func (a *App) endKeys(context.Context) error {
	life, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		if err := operator.EndKeys(life, a.access, a.engine, a.registry, a.scheduled); err != nil && life.Err() == nil {
			a.log.Warn("batches or webhooks of a deleted key still run; DELETE /keys/{id} with its id continues, and so does the next start", "error", err)
		}
	})
	a.stops.pushFunc("deleted keys", func() {
		cancel()
		work.Wait()
	})
	return nil
}
