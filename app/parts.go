package app

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"postern/app/fleet"
	"postern/app/hub"
	"postern/app/upstream"
	"postern/batch"
	"postern/batch/optout"
	"postern/delivery/outbox"
	"postern/delivery/pull"
	"postern/delivery/receivers"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/idempotency"
	"postern/instance"
	"postern/instance/erasure"
	"postern/instance/later"
	"postern/instance/pace"
	"postern/media"
	"postern/media/cache"
	"postern/media/kept"
	"postern/media/link"
	"postern/messages"
	"postern/sandbox"
	"postern/store"
	"postern/whatsapp"
	"postern/whatsapp/device"
	"postern/wsbus"
)

// fileOptions returns how the data file is opened.
func (a *App) fileOptions() store.Options {
	return store.Options{
		Path: a.cfg.Store.Path, Buckets: Buckets(), Logger: a.log, OnCommit: a.metrics.committed, Program: version, KeepBefore: a.cfg.Store.KeepBefore,
	}
}

func (a *App) startStore(ctx context.Context) (err error) {
	if a.store, err = a.openStore(ctx); err != nil {
		return err
	}
	if !a.store.WasClean() {
		a.log.Info("the last run did not end in order; recovering")
	}
	a.stops.push("store", func(context.Context) error {
		if err := a.store.Close(); err != nil || !a.started {
			return err
		}
		return store.DropBefore(a.cfg.Store.Path)
	})
	if a.outbox, err = outbox.Open(a.store); err != nil {
		return err
	}
	a.outbox.SetDelivery(a.cfg.Webhook.GlobalEnabled)
	return nil
}

func (a *App) startHub(context.Context) error {
	ws := a.cfg.Websocket
	a.hub = wsbus.New(wsbus.Config{
		Events: hub.BatchEvents{Store: a.store}, InstanceEvents: hub.InstanceEvents{Store: a.store}, SendBuffer: int(ws.SendBuffer), PingInterval: ws.PingInterval, PongTimeout: ws.PongTimeout, WriteTimeout: ws.WriteTimeout,
		MaxPerToken:    int(ws.MaxPerToken),
		AllowedOrigins: ws.AllowedOrigins, AllowEmptyOrigin: ws.AllowEmptyOrigin, Valid: a.store.Valid, Logger: a.log,
	})
	a.stops.push("websocket hub", a.hub.Close)
	a.console = a.newConsole()
	return nil
}

func (a *App) startSandbox(context.Context) (err error) {
	if !a.cfg.Sandbox.Enabled {
		return nil
	}
	if a.sandbox, err = sandbox.Open(sandbox.Config{Path: a.cfg.Sandbox.Path, Logger: a.log, Latency: sandbox.UsualLatency}); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	a.stops.push("sandbox", func(context.Context) error { return a.sandbox.Close() })
	if a.cfg.Sandbox.AutoPair {
		a.pairing.server = a.sandbox
		a.pairing.log = a.log
		a.stops.pushFunc("automatic pairing", a.pairing.work.Wait)
	}
	return nil
}

// uploadTimeout limits the upload of one file to WhatsApp.
const uploadTimeout = 5 * time.Minute

// startMedia looks for ffmpeg, which is optional.
func (a *App) startMedia(context.Context) (err error) {
	converter, err := exec.LookPath("ffmpeg")
	if err != nil {
		a.log.Info("no ffmpeg on the PATH: voice notes have to be OGG/Opus, and videos are sent without a thumbnail")
	}
	m := a.cfg.Media
	a.media, err = media.New(media.Config{
		Store: a.store, Dir: a.cfg.Store.Path + ".media", Control: dispatch.Guard{DenyPrivate: !m.AllowPrivate}.Control,
		MaxBytes: m.MaxBytes, MaxUploads: int(m.MaxUploads), Timeout: m.Timeout, FFmpeg: converter, Logger: a.log, Owner: instance.There,
	})
	if err != nil {
		return err
	}
	a.media.Start()
	a.stops.push("media", a.media.Stop)
	if a.links, err = link.Open(a.store, []byte(a.sec.JWTSecret), instance.There); err != nil {
		return err
	}
	a.fetched = cache.New(cache.Config{Create: a.media.Create, Max: m.Cache, Wait: m.FetchWait, Observe: a.metrics.fetched})
	a.stops.push("fetched files", a.fetched.Close)
	return a.openKept()
}

// startMessages opens the stored messages and begins to remove old ones.
func (a *App) startMessages(ctx context.Context) (err error) {
	d := a.cfg.Database
	a.messages, err = messages.Open(ctx, messages.Config{
		Store: a.store, Owner: instance.There, SaveMessages: d.SaveNewMessage, SaveUpdates: d.SaveMessageUpdate, SaveContacts: d.SaveContacts,
		Retention: d.MessageRetention, Stored: a.kept.Wish, Deleted: kept.Drop, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.messages.Start()
	a.stops.pushFunc("messages", a.messages.Close)
	return nil
}

func (a *App) startInstances(ctx context.Context) error {
	devices, err := device.Open(a.store, a.log)
	if err != nil {
		return err
	}
	a.stops.push("devices", devices.Close)
	a.optouts, err = optout.Open(optout.Config{Store: a.store, Addresses: devices.AddressesOf, Open: batch.MayStillSend, Logger: a.log})
	if err != nil {
		return err
	}
	forAll, err := a.proxyForAll()
	if err != nil {
		return err
	}
	connector, err := a.connector(devices)
	if err != nil {
		return err
	}
	lost := losses{a.consumers, a.webhooks}
	a.registry, err = instance.Open(ctx, instance.Config{
		Store: a.store, Messages: a.messages, Webhooks: a.webhooks, Publish: a.publish, Watched: a.hub.Watched, OnStatus: a.statusChanged, OnChange: a.instanceChanged, KeepsStrangers: a.keepsStrangers,
		OptOuts: a.optouts, Twin: devices.Twin, Link: a.linkIn, Linked: a.kept.Linked, NoteLost: lost.note, Lost: lost.one, Standings: func() (map[int64]instance.Standing, error) { return upstream.Standings(devices, a.home) },
		Account: func(id int64) (*event.Link, error) { return upstream.Account(ctx, devices, id) },
		Proxy:   forAll, CheckProxy: dispatch.Guard{}.CheckURL,
		CheckURL:   dispatch.Guard{DenyPrivate: a.cfg.Webhook.DenyPrivate}.CheckURL,
		DropNotice: devices.DropNoticeTx,
		Ledger:     a.ledger, OnLanes: a.lanesChanged, ClearLanes: a.relay.Clear,
		Forget: func(tx *store.Tx, id int64) error {
			return errors.Join(devices.DeleteTx(tx, id), media.Forget(tx, id), link.Forget(tx, id), kept.Forget(tx, id), alerts.Forget(tx, id), pace.Forget(tx, id), later.Forget(tx, id), erasure.Forget(tx, id), idempotency.ForgetInstance(tx, id), pull.Forget(tx, id), receivers.Forget(tx, id), a.ledger.ForgetInstance(tx, id))
		},
		Logger: a.log,
	})
	if err != nil {
		return err
	}
	if err := a.openVersions(); err != nil {
		return err
	}
	devices.OnTrust(a.registry.Met)
	if w := a.wrongNetworks(); w != "" {
		a.log.Warn(w)
	}
	a.known = fleet.Contacts{Registry: a.registry, Messages: a.messages, Devices: devices}
	a.introductions()
	if err := a.startPacer(ctx); err != nil {
		return err
	}
	wa := a.cfg.WhatsApp
	a.supervisor = instance.NewSupervisor(instance.SupervisorConfig{
		Registry: a.registry, Connector: connector, AutoReconnect: wa.AutoReconnect,
		StartupConcurrency: int(wa.StartupReconnectConcurrency), ConnectTimeout: seconds(wa.ConnectTimeout),
		InitialDelay: seconds(wa.ReconnectInitialDelay), MaxDelay: seconds(wa.ReconnectMaxDelay), Valid: a.cell.valid(),
		PruneDevice: devices.Prune, DropLoggedOut: devices.DropAside, KeepLoggedOut: wa.KeepLoggedOut, Outdated: a.versions.Outdated, Taken: a.versions.Taken, NewMessageID: whatsapp.NewMessageID, OnCode: a.pairing.scan,
		Knows: a.known.Know, Person: a.known.Person, Pacer: a.pacer, FailureStreak: int(a.cfg.Batch.FailureStreak), UndeliveredAfter: wa.UndeliveredAfter, Logger: a.log,
	})
	return nil
}

// startPacer reads the limits of all instances.
func (a *App) startPacer(ctx context.Context) error {
	zone, err := time.LoadLocation(a.cfg.Batch.Timezone)
	if err != nil {
		return fmt.Errorf("message.batch.timezone: %w", err)
	}
	a.pacer, err = pace.Open(ctx, pace.Config{
		Store: a.store, Location: zone, Person: a.known.Person, IsNew: a.known.IsNew, Changed: a.limitsChanged, Date: a.store.Now, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.stops.push("limits of instances", func(context.Context) error { return a.pacer.Close() })
	return nil
}

func (a *App) startBatches(ctx context.Context) error {
	zone, err := time.LoadLocation(a.cfg.Batch.Timezone)
	if err != nil {
		return fmt.Errorf("message.batch.timezone: %w", err)
	}
	restored, err := a.unsure()
	if err != nil {
		return err
	}
	a.engine, err = batch.New(batch.Config{
		Store: a.store, Outbox: a.outbox, OptOuts: a.optouts, AccountOf: a.known.Devices.AccountOf, NumbersOf: a.known.Devices.NumbersOf, Fleet: fleet.Fleet{Registry: a.registry, Supervisor: a.supervisor, Knows: a.known.Know, Pacer: a.pacer, Benches: a.cfg.Batch.BenchUndelivered}, LetGo: a.letGo, Changed: a.batchChanged, NewMessageID: whatsapp.NewMessageID, Enabled: a.cfg.Batch.WorkerEnabled,
		MaxDelay:        time.Duration(a.cfg.Batch.MaxDelayMs) * time.Millisecond,
		MaxRecipients:   int(a.cfg.Batch.MaxRecipients),
		MaxOpen:         int(a.cfg.Batch.MaxOpen),
		ShutdownTimeout: time.Duration(a.cfg.Batch.ShutdownTimeoutMs) * time.Millisecond,
		SendTimeout:     a.cfg.Message.SendTimeout, TurnTimeout: a.cfg.Message.TurnTimeout, Lease: a.cfg.Batch.Lease, Retention: a.cfg.Batch.Retention, Location: zone, Logger: a.log,
		MediaTimeout: 2*a.cfg.Media.Timeout + uploadTimeout, // fetch, convert, upload
		Restored:     restored,
	})
	if err != nil {
		return err
	}
	// Connections only now: their first states already concern the engine.
	a.supervisor.Start()
	a.kept.Start()
	a.stops.push("kept files", a.kept.Stop)
	a.stops.push("instances", a.supervisor.Stop)
	a.versions.Start()
	a.stops.push("client version", a.versions.Stop)
	if err := a.engine.Start(ctx); err != nil {
		return fmt.Errorf("batch engine: %w", err)
	}
	a.stops.push("batch engine", a.engine.Stop)
	a.optouts.Start()
	a.stops.push("opt-outs", a.optouts.Stop)
	return nil
}

func (a *App) startProcessor(ctx context.Context) error {
	p := a.cfg.Processing
	restored, err := a.unsure()
	if err != nil {
		return err
	}
	a.processor = later.NewProcessor(later.ProcessorConfig{
		Store: a.store, Registry: a.registry, Supervisor: a.supervisor,
		Workers: int(p.Workers), QueueSize: int(p.QueueSize), Timeout: p.Timeout, Release: media.Release, Restored: restored, Logger: a.log,
	})
	if err := a.processor.Start(ctx); err != nil {
		return err
	}
	a.stops.push("asynchronous sends", a.processor.Stop)
	return nil
}

func (a *App) startScheduled(ctx context.Context) error {
	restored, err := a.unsure()
	if err != nil {
		return err
	}
	a.scheduled = later.New(later.Config{
		Store: a.store, Registry: a.registry, Supervisor: a.supervisor, Spool: a.media.Spool,
		Max: int(a.cfg.Scheduled.Max), MaxBytes: a.cfg.Scheduled.MaxBytes, Restored: restored, Logger: a.log,
	})
	if err := a.scheduled.Start(ctx); err != nil {
		return err
	}
	a.stops.push("scheduled sends", a.scheduled.Stop)
	return a.settleRestored(ctx)
}

// startErasures continues to remove what is stored about people who asked for it.
func (a *App) startErasures(context.Context) error {
	a.erasures = erasure.New(erasure.Config{
		Store: a.store, Messages: a.messages, Ledger: a.ledger, KeepsFile: kept.Has, Forget: a.known.Devices.ForgetPerson,
		Account: func(id int64) (name string, own []string, err error) {
			rec, err := a.registry.ByID(id)
			return rec.Name, []string{plain(rec.OwnerJID), plain(rec.OwnerLID)}, err
		},
		Person: func(jid string) []string {
			_, all := a.known.Devices.Person(jid)
			return all
		},
		Logger: a.log,
	})
	a.erasures.Start()
	a.stops.push("erasures", a.erasures.Stop)
	return nil
}
