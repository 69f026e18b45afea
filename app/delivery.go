package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"postern/delivery"
	"postern/delivery/logbook"
	"postern/delivery/pull"
	"postern/delivery/receivers"
	"postern/dispatch"
	"postern/instance"
	"postern/instance/webhooks"
)

// relayConnections is the number of idle connections kept to one host, which relay and queue share: as many as a
// host of many instances that is slow has in flight, and as many again, so that its
// deliveries need no connection of their own.
const relayConnections = 64

// openDispatch creates the delivery of webhooks. Instances are created with it; it
// delivers from startDispatch on, when the destinations are known.
func (a *App) openDispatch(context.Context) (err error) {
	hook := a.cfg.Webhook
	a.health = receivers.NewHealth(a.store.Now)
	if a.pauses, err = receivers.OpenPauses(a.store, a.lanesChanged, a.log); err != nil {
		return err
	}
	a.stops.push("paused receivers", a.pauses.Stop)
	a.webhooks = webhooks.New(webhooks.Config{Store: a.store, GlobalURL: a.cfg.GlobalWebhook(), DurableDefault: hook.DurableDefault})
	resolve := a.pauses.Resolve(a.webhooks.Resolve)
	a.ledger, err = delivery.Open(a.store, delivery.Config{
		Log: hook.Log, Bodies: delivery.Bodies(hook.LogBodies), DurableMaxBytes: hook.DurableMaxBytes, GlobalURL: a.cfg.GlobalWebhook(),
		Resolve: resolve, Ended: func(all []delivery.Ended) { a.relay.Ended(all) },
		Changed: a.deliveriesChanged, Outbox: a.outbox, Logger: a.log,
	})
	if err != nil {
		return fmt.Errorf("deliveries: %w", err)
	}
	a.stops.push("ledger of deliveries", a.ledger.Stop)
	a.deliveries = logbook.New(a.ledger, logbook.Config{
		Retention: hook.LogRetention, MaxEntries: int(hook.LogMaxEntries), ReplayRate: int(hook.ReplayRate),
		Made: func(lane delivery.Lane, dues []delivery.Due) { a.relay.Made(lane, dues) }, Logger: a.log,
	})
	a.stops.push("log of deliveries", a.deliveries.Stop)
	a.consumers = pull.New(a.store, instance.There, a.outbox.Emitted, a.log)
	a.stops.pushFunc("consumers of events", a.consumers.Stop)
	sender := dispatch.NewSender(dispatch.SenderConfig{
		Timeout: hook.Timeout, Connections: max(int(hook.Workers), relayConnections), Guard: dispatch.Guard{DenyPrivate: hook.DenyPrivate}, Valid: a.cell.valid(),
	})
	a.stops.pushFunc("webhook connections", sender.Close)
	counted := attempts{a.metrics, a.health, a.store.Now}
	a.queue = dispatch.NewQueue(dispatch.QueueConfig{
		Sender: sender, Workers: int(hook.Workers), Size: int(hook.QueueSize), PerDestination: int(hook.PerDestination),
		Log: a.deliveries, Resolve: resolve, Observe: counted.queued, Lost: counted.dropped, Logger: a.log,
	})
	a.relay = dispatch.NewRelay(dispatch.RelayConfig{
		Store: a.store, Outbox: a.outbox, Sender: sender, URL: a.cfg.GlobalWebhook(), Publisher: a.hub, Retention: a.cfg.Outbox.Retention,
		Ledger: a.ledger, Resolve: resolve, PublishInstance: a.hub.PublishInstance,
		Observe: counted.attempted, Lost: func(lane delivery.Lane, n int) { a.health.Lose(receivers.Of(lane), n) }, Logger: a.log,
	})
	a.stops.push("webhook queue and relay", func(ctx context.Context) error {
		var relay error
		var both sync.WaitGroup // who waits for a receiver that hangs does it once
		both.Go(func() { relay = a.relay.Stop(ctx) })
		queue := a.queue.Close(ctx)
		both.Wait()
		return errors.Join(relay, queue)
	})
	a.receivers = a.newReceivers(resolve)
	return nil
}

// startDispatch starts to deliver the events in the file.
func (a *App) startDispatch(ctx context.Context) error {
	if err := a.receivers.Seed(); err != nil {
		return fmt.Errorf("receivers: %w", err)
	}
	if err := a.relay.Start(); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	a.pauses.Start()
	a.consumers.Start()
	return errors.Join(a.ledger.Start(ctx), a.deliveries.Start(ctx))
}

// lanesChanged notifies the relay that lanes may lead elsewhere than before.
func (a *App) lanesChanged(lanes []delivery.Lane) {
	a.receivers.Changed(lanes)
	a.queue.Changed(lanes)
	a.relay.Changed(lanes)
}
