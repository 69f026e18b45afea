package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// publish hands an instance event to its webhooks and WebSocket clients, which get
// those of a durable instance from the relay.
func (a *App) publish(n event.Notice) {
	if !n.Stored {
		a.hub.PublishInstance(n)
	}
	if err := a.queue.Enqueue(n); err != nil {
		level, times := a.drops.Count("queue")
		a.log.Log(context.Background(), level, "webhook dropped", "event", string(n.Kind), "instance", n.InstanceName, "error", err, "count", times)
	}
}

// postNow delivers a notice and waits for the result.
func (a *App) postNow(ctx context.Context, n event.Notice) (status int, err error) {
	o := a.queue.PostNow(ctx, n)
	if !o.Delivered() {
		err = errors.New(o.Reason())
	}
	return o.Status, err
}

// statusChanged notifies the batches of an instance's new state.
func (a *App) statusChanged(id int64, s event.State) {
	if a.engine != nil {
		a.engine.InstanceChanged(id, s)
	}
}

// limitsChanged notifies the batches that an instance may send sooner than
// announced.
func (a *App) limitsChanged(id int64) {
	if rec, err := a.registry.ByID(id); err == nil && a.engine != nil {
		a.engine.GateChanged(id, rec.Status)
	}
}

// keepsStrangers reports whether the limit of new contacts is used up.
func (a *App) keepsStrangers(id int64) bool { return a.pacer != nil && a.pacer.KeepsStrangers(id) }

// letGo releases the reservation of a batch that does not send next.
func (a *App) letGo(id uuid.UUID) { a.pacer.Release(id.String()) }

// introductions notifies batches when a person who wrote under a LID alone turns out
// to have a number, once a second at most: every new contact has a LID.
func (a *App) introductions() {
	changed := make(chan struct{}, 1)
	a.known.Devices.OnPairs(func() {
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
	a.stops.pushFunc("introductions", func() {
		end()
		work.Wait()
	})
}
