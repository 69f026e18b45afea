package app

import (
	"context"
	"errors"

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
