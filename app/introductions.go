package app

import (
	"context"
	"sync"
	"time"
)

// introductions notifies batches when a person who wrote under a LID alone turns out
// to have a number, once a second at most: every new contact has a LID.
func (a *App) introductions() {
	changed := make(chan struct{}, 1)
	a.known.devices.OnPairs(func() {
		select {
		case changed <- struct{}{}:
		default: // it is reported with the previous one
		}
	})
	ctx, end := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-changed:
				a.registry.MetSomewhere()
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	})
	a.stops.push("introductions", func(context.Context) error {
		end()
		work.Wait()
		return nil
	})
}
