package main

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
	_ "time/tzdata" // schedules name time zones, and the machine may have no database of them

	"postern/batch"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi"
	"postern/instance"
	"postern/media"
	"postern/peers"
	"postern/sandbox"
	"postern/store"
	"postern/whatsapp"
	"postern/whatsapp/device"
	"postern/wsbus"
)

// app is a running Postern. Its parts are started in the order of start and
// stopped in the opposite one.
type app struct {
	cfg *Config
	sec secrets
	log *slog.Logger

	url     string          // where the API is served
	sandbox *sandbox.Server // nil unless enabled
	failed  chan error      // size 1: the listener ended by itself
	stops   *stopStack

	failures *peers.Failures // credentials that were guessed
	clients  *peers.Listener // of the API

	store      *store.Store
	hub        *wsbus.Hub
	queue      *dispatch.Queue
	drops      dispatch.LogThrottle // of the queue
	relay      *dispatch.Relay
	media      *media.Library
	registry   *instance.Registry
	supervisor *instance.Supervisor
	processor  *instance.Processor
	engine     *batch.Engine
	whatsapp   *whatsapp.Connector
	pairing    pairer
	metrics    *metrics
}

// buckets are the buckets of the data file, but for the store's own.
func buckets() []store.Bucket {
	return slices.Concat(instance.Buckets(), device.Buckets(), batch.Buckets(), media.Buckets(), httpapi.Buckets())
}

// start takes the addresses and brings everything up behind them.
func start(ctx context.Context, cfg *Config, sec secrets, log *slog.Logger) (*app, error) {
	taken, err := takeAddresses(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return startOn(ctx, taken, cfg, sec, log)
}

// errInterrupted tells that a start was ended by its context, and that all of it
// was taken back in order.
var errInterrupted = errors.New("ended during the start")

// startOn brings everything up, from the file to the listeners, which it closes
// in any case, and returns when requests are answered. When a part cannot start,
// or ctx ends, those before it are stopped again.
func startOn(ctx context.Context, taken addresses, cfg *Config, sec secrets, log *slog.Logger) (*app, error) {
	a := &app{cfg: cfg, sec: sec, log: log, failed: make(chan error, 1), stops: &stopStack{log: log}}
	a.failures = peers.NewFailures(int(cfg.Authentication.FailuresPerMinute))
	a.metrics = newMetrics(a)
	for _, part := range []func(context.Context) error{
		a.startStore, a.startHub, a.startDispatch, a.startSandbox, a.startMedia, a.startInstances, a.startBatches, a.startProcessor,
		func(context.Context) error { return a.serve(taken) },
	} {
		err := ctx.Err()
		if err == nil {
			err = part(ctx)
		}
		if err != nil {
			taken.close()
			return nil, a.takeBack(ctx, err)
		}
	}
	return a, nil
}

// takeBack stops what was started before cause ended the start. Once ctx has
// ended, the cause is no failure: nobody wanted the start any more.
func (a *app) takeBack(ctx context.Context, cause error) error {
	interrupted := ctx.Err() != nil
	a.stops.quiet = interrupted // one line tells all, and the caller writes it
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.Server.ShutdownTimeout)
	defer cancel()
	err := a.stop(stopping)
	if interrupted && err == nil {
		return fmt.Errorf("%w: %w", errInterrupted, cause)
	}
	return errors.Join(cause, err)
}

// stop takes everything down until ctx ends; what is left then is cut off.
func (a *app) stop(ctx context.Context) error { return a.stops.stop(ctx) }

func (a *app) startStore(context.Context) (err error) {
	a.store, err = store.Open(store.Options{
		Path: a.cfg.Store.Path, Buckets: buckets(), Logger: a.log, OnCommit: a.metrics.committed, DisableOutboxDelivery: !a.cfg.Webhook.GlobalEnabled,
	})
	if err != nil {
		return err
	}
	if !a.store.WasClean() {
		a.log.Info("the last run did not end in order; recovering")
	}
	a.stops.push("store", func(context.Context) error { return a.store.Close() })
	return nil
}

func (a *app) startHub(context.Context) error {
	ws := a.cfg.Websocket
	a.hub = wsbus.New(wsbus.Config{
		Events: eventLog{a.store}, SendBuffer: int(ws.SendBuffer), PingInterval: ws.PingInterval, PongTimeout: ws.PongTimeout, WriteTimeout: ws.WriteTimeout,
		MaxPerToken:    int(ws.MaxPerToken),
		AllowedOrigins: ws.AllowedOrigins, AllowEmptyOrigin: ws.AllowEmptyOrigin, Logger: a.log,
	})
	a.stops.push("websocket hub", a.hub.Close)
	return nil
}

// relayConnections is what the outbox relay has in flight at most, on the
// connections that it shares with the queue.
const relayConnections = 10

func (a *app) startDispatch(ctx context.Context) error {
	hook := a.cfg.Webhook
	sender := dispatch.NewSender(dispatch.SenderConfig{
		Timeout: hook.Timeout, Connections: max(int(hook.Workers), relayConnections), Guard: dispatch.Guard{DenyPrivate: hook.DenyPrivate},
	})
	a.stops.push("webhook connections", func(context.Context) error {
		sender.Close()
		return nil
	})
	a.queue = dispatch.NewQueue(dispatch.QueueConfig{
		Sender: sender, Workers: int(hook.Workers), Size: int(hook.QueueSize), PerDestination: int(hook.PerDestination),
		Observe: a.metrics.delivered(flowInstance), Logger: a.log,
	})
	a.relay = dispatch.NewRelay(dispatch.RelayConfig{
		Store: a.store, Sender: sender, URL: a.globalURL(), Publisher: a.hub, Retention: a.cfg.Outbox.Retention,
		Observe: a.metrics.delivered(flowBatch), Logger: a.log,
	})
	if err := a.relay.Start(); err != nil {
		return errors.Join(fmt.Errorf("outbox relay: %w", err), a.queue.Close(ctx))
	}
	a.stops.push("webhook queue and outbox relay", func(ctx context.Context) error {
		var relay error
		var both sync.WaitGroup // who waits for a receiver that hangs does it once
		both.Go(func() { relay = a.relay.Stop(ctx) })
		queue := a.queue.Close(ctx)
		both.Wait()
		return errors.Join(relay, queue)
	})
	return nil
}

// globalURL is the global webhook, empty when it is disabled.
func (a *app) globalURL() string {
	if !a.cfg.Webhook.GlobalEnabled {
		return ""
	}
	return a.cfg.Webhook.GlobalURL
}

func (a *app) startSandbox(context.Context) (err error) {
	if !a.cfg.Sandbox.Enabled {
		return nil
	}
	if a.sandbox, err = sandbox.Open(sandbox.Config{Path: a.cfg.Sandbox.Path, Logger: a.log}); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	a.stops.push("sandbox", func(context.Context) error { return a.sandbox.Close() })
	if a.cfg.Sandbox.AutoPair {
		a.pairing.server = a.sandbox
		a.pairing.log = a.log
		a.stops.push("automatic pairing", func(context.Context) error {
			a.pairing.work.Wait()
			return nil
		})
	}
	return nil
}

// uploadTimeout is the longest time for one file on its way to WhatsApp.
const uploadTimeout = 5 * time.Minute

// startMedia finds ffmpeg, which the program can do without.
func (a *app) startMedia(context.Context) (err error) {
	converter, err := exec.LookPath("ffmpeg")
	if err != nil {
		a.log.Info("no ffmpeg on the PATH: voice notes have to be OGG/Opus, and videos are sent without a thumbnail")
	}
	m := a.cfg.Media
	a.media, err = media.New(media.Config{
		Store: a.store, Dir: a.cfg.Store.Path + ".media", Control: dispatch.Guard{DenyPrivate: !m.AllowPrivate}.Control,
		MaxBytes: m.MaxBytes, MaxUploads: int(m.MaxUploads), Timeout: m.Timeout, FFmpeg: converter, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.media.Start()
	a.stops.push("media", a.media.Stop)
	return nil
}

func (a *app) startInstances(ctx context.Context) error {
	devices, err := device.Open(a.store, a.log)
	if err != nil {
		return err
	}
	a.stops.push("devices", devices.Close)
	connector, err := a.connector(devices)
	if err != nil {
		return err
	}
	a.registry, err = instance.Open(ctx, instance.Config{
		Store: a.store, Publish: a.publish, OnStatus: a.statusChanged,
		CheckURL:     dispatch.Guard{DenyPrivate: a.cfg.Webhook.DenyPrivate}.CheckURL,
		SaveMessages: a.cfg.Database.SaveNewMessage, SaveUpdates: a.cfg.Database.SaveMessageUpdate,
		SaveContacts: a.cfg.Database.SaveContacts, GlobalURL: a.globalURL(),
		Forget: func(tx *store.Tx, id int64) error {
			return errors.Join(devices.DeleteTx(tx, id), media.Forget(tx, id), httpapi.ForgetInstance(tx, id))
		},
		Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.stops.push("instance registry", func(context.Context) error {
		a.registry.Close()
		return nil
	})
	wa := a.cfg.WhatsApp
	a.supervisor = instance.NewSupervisor(instance.SupervisorConfig{
		Registry: a.registry, Connector: connector, AutoReconnect: wa.AutoReconnect,
		StartupConcurrency: int(wa.StartupReconnectConcurrency), ConnectTimeout: seconds(wa.ConnectTimeout),
		InitialDelay: seconds(wa.ReconnectInitialDelay), MaxDelay: seconds(wa.ReconnectMaxDelay),
		Retention: a.cfg.Database.MessageRetention, PruneDevice: devices.Prune, OnCode: a.pairing.scan, Logger: a.log,
	})
	return nil
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

func (a *app) connector(devices *device.Container) (instance.Connector, error) {
	endpoint, err := a.endpoint()
	if err != nil {
		return nil, err
	}
	if endpoint != nil {
		a.log.Warn("NOT connected to WhatsApp: every instance talks to another server", "endpoint", maskURL(endpoint.URL))
	}
	wa := a.cfg.WhatsApp
	c, err := whatsapp.New(whatsapp.Config{
		Devices: devices, Endpoint: endpoint, Media: a.media, UploadTimeout: uploadTimeout, ClientName: wa.ClientName, ClientType: wa.ClientType,
		ConnectTimeout: seconds(wa.ConnectTimeout), SendTimeout: a.cfg.Message.SendTimeout, TurnTimeout: a.cfg.Message.TurnTimeout, PairingTimeout: wa.PairingTimeout,
		KeepAliveInterval: wa.KeepaliveInterval, KeepAliveTimeout: wa.KeepaliveTimeout,
		QRLight: a.cfg.QRCode.LightColor, QRDark: a.cfg.QRCode.DarkColor, QRLimit: int(a.cfg.QRCode.Limit), Logger: a.log,
	})
	if err != nil {
		return nil, err
	}
	a.whatsapp = c
	return connector{c}, nil
}

// endpoint is the server that clients talk to in place of WhatsApp, or nil.
func (a *app) endpoint() (*whatsapp.Endpoint, error) {
	if a.sandbox != nil {
		e := a.sandbox.Endpoint()
		return &whatsapp.Endpoint{URL: e.URL, CA: e.CA, RootKey: e.RootKey}, nil
	}
	wa := a.cfg.WhatsApp
	if wa.Endpoint == "" {
		return nil, nil
	}
	e := &whatsapp.Endpoint{URL: wa.Endpoint}
	var err error
	if e.CA, err = os.ReadFile(wa.EndpointCA); err != nil {
		return nil, fmt.Errorf("whatsapp.endpoint_ca: %w", err)
	}
	if block, _ := pem.Decode(e.CA); block == nil {
		return nil, fmt.Errorf("whatsapp.endpoint_ca: %s holds no PEM certificate", wa.EndpointCA)
	}
	if e.RootKey, err = parseRootKey(wa.EndpointRootKey); err != nil {
		return nil, fmt.Errorf("whatsapp.endpoint_root_key: %w", err)
	}
	return e, nil
}

func (a *app) startBatches(ctx context.Context) error {
	zone, err := time.LoadLocation(a.cfg.Batch.Timezone)
	if err != nil {
		return fmt.Errorf("message.batch.timezone: %w", err)
	}
	a.engine, err = batch.New(batch.Config{
		Store: a.store, Fleet: fleet{a.registry, a.supervisor}, NewMessageID: whatsapp.NewMessageID, Enabled: a.cfg.Batch.WorkerEnabled,
		MaxDelay:        time.Duration(a.cfg.Batch.MaxDelayMs) * time.Millisecond,
		MaxRecipients:   int(a.cfg.Batch.MaxRecipients),
		MaxOpen:         int(a.cfg.Batch.MaxOpen),
		ShutdownTimeout: time.Duration(a.cfg.Batch.ShutdownTimeoutMs) * time.Millisecond,
		SendTimeout:     a.cfg.Message.SendTimeout, TurnTimeout: a.cfg.Message.TurnTimeout, Lease: a.cfg.Batch.Lease, Retention: a.cfg.Batch.Retention, Location: zone, Logger: a.log,
		MediaTimeout: 2*a.cfg.Media.Timeout + uploadTimeout, // fetch, convert, upload
	})
	if err != nil {
		return err
	}
	// Connections only now: their first states already concern the engine.
	a.supervisor.Start()
	a.stops.push("instances", a.supervisor.Stop)
	if err := a.engine.Start(ctx); err != nil {
		return fmt.Errorf("batch engine: %w", err)
	}
	a.stops.push("batch engine", a.engine.Stop)
	return nil
}

func (a *app) startProcessor(ctx context.Context) error {
	p := a.cfg.Processing
	a.processor = instance.NewProcessor(instance.ProcessorConfig{
		Store: a.store, Registry: a.registry, Supervisor: a.supervisor,
		Workers: int(p.Workers), QueueSize: int(p.QueueSize), Timeout: p.Timeout, Release: media.Release, Logger: a.log,
	})
	if err := a.processor.Start(ctx); err != nil {
		return err
	}
	a.stops.push("asynchronous sends", a.processor.Stop)
	return nil
}

// stalled is how long the relay's loop may be silent before the program is not
// ready.
const stalled = time.Minute

// notReady says why requests should go elsewhere, nothing when all is well. The
// interface asks the store by itself.
func (a *app) notReady() (reasons []string) {
	if a.globalURL() != "" && time.Since(a.relay.Stats().LastTurn) > stalled {
		reasons = append(reasons, "the outbox relay is stalled")
	}
	return reasons
}

// publish hands an instance event to its webhooks and WebSocket clients.
func (a *app) publish(n event.Notice) {
	a.hub.PublishInstance(n)
	if err := a.queue.Enqueue(n); err != nil {
		level, times := a.drops.Count("queue")
		a.log.Log(context.Background(), level, "webhook dropped", "event", string(n.Kind), "instance", n.InstanceName, "error", err, "count", times)
	}
}

// postNow delivers a notice that somebody waits for.
func (a *app) postNow(ctx context.Context, n event.Notice) (status int, err error) {
	o := a.queue.PostNow(ctx, n)
	if !o.Delivered() {
		err = errors.New(o.Reason())
	}
	return o.Status, err
}

// statusChanged tells the batches of an instance's new state.
func (a *app) statusChanged(id int64, s event.State) {
	if a.engine != nil {
		a.engine.InstanceChanged(id, s)
	}
}
