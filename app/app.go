package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"slices"
	"time"
	_ "time/tzdata" // schedules name time zones, and the machine may have no database of them

	"postern/access"
	"postern/app/certificate"
	"postern/app/fleet"
	"postern/app/hub"
	"postern/app/upstream"
	"postern/backup"
	"postern/batch"
	"postern/batch/optout"
	"postern/batch/record"
	"postern/config"
	"postern/console/feed"
	"postern/console/samples"
	"postern/console/trouble"
	"postern/delivery"
	"postern/delivery/logbook"
	"postern/delivery/outbox"
	"postern/delivery/pull"
	"postern/delivery/receivers"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/idempotency"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/instance/erasure"
	"postern/instance/later"
	"postern/instance/pace"
	"postern/instance/webhooks"
	"postern/internal/loglevel"
	"postern/internal/loglines"
	"postern/internal/peers"
	"postern/media"
	"postern/media/cache"
	"postern/media/kept"
	"postern/media/link"
	"postern/messages"
	"postern/sandbox"
	"postern/store"
	"postern/store/schema"
	"postern/whatsapp"
	"postern/whatsapp/clientversion"
	"postern/whatsapp/device"
	"postern/wsbus"
)

// App is a running Postern. Its parts start in the order of start and
// stop in reverse order.
type App struct {
	cfg   *config.Config
	sec   config.Secrets
	log   *slog.Logger
	level *loglevel.Level // of log; nil: it cannot be changed
	lines *loglines.Ring  // the last of log; nil: they are not kept

	url       string             // where the API is served
	socket    string             // the Unix socket where it is, too; empty: none
	sandbox   *sandbox.Server    // nil unless enabled
	certFiles *certificate.Files // of server.tls.cert; nil without
	acme      *certificate.ACME  // of server.tls.domain; nil without
	reload    reload
	api       http.Handler // of every path, without server.base_path
	support   support
	failed    chan error // size 1: the listener ended by itself
	stops     *stopStack

	stopping chan struct{} // closed when the stop begins

	failures *peers.Failures // credentials that were guessed
	clients  *peers.Listener // of the API

	cell *cell // that the data belong to; nil: the file stands alone

	started    bool          // all parts
	led        chan struct{} // closed when they are
	store      *store.Store
	outbox     *outbox.Outbox
	hub        *wsbus.Hub
	console    *feed.Feed
	ledger     *delivery.Ledger
	deliveries *logbook.Log
	consumers  *pull.Consumers
	health     *receivers.Health
	pauses     *receivers.Pauses
	receivers  *receivers.Book
	queue      *dispatch.Queue
	drops      dispatch.LogThrottle // of the queue
	relay      *dispatch.Relay
	media      *media.Library
	links      *link.Links
	fetched    *cache.Cache
	kept       *kept.Keeper
	linkBase   linkBase
	webhooks   *webhooks.Directory
	messages   *messages.Archive
	registry   *instance.Registry
	known      fleet.Contacts
	pacer      *pace.Pacer
	supervisor *instance.Supervisor
	processor  *later.Processor
	scheduled  *later.Scheduler
	erasures   *erasure.Book
	engine     *batch.Engine
	optouts    *optout.Book
	whatsapp   *whatsapp.Connector
	home       event.Network // that instances connect to
	versions   *clientversion.Refresher
	pairing    pairer
	backups    *backup.Keeper // nil: none are made
	samples    *samples.Recorder
	troubles   *trouble.Watch
	openJobs   *jobs
	access     rest.Access
	metrics    *metrics
}

// URL returns the address of the API, such as http://127.0.0.1:8084, or
// unix:/run/postern.sock if that is the only one.
func (a *App) URL() string { return a.url }

// Socket returns the path of the API's Unix socket, empty for none.
func (a *App) Socket() string { return a.socket }

// Failed is closed when a listener has failed; the program should then end, too.
func (a *App) Failed() <-chan error { return a.failed }

// Phone returns the simulated phone with a number, if the sandbox has it.
func (a *App) Phone(number string) (p *sandbox.Phone, ok bool) {
	if a.sandbox == nil {
		return nil, false
	}
	return a.sandbox.Phone(number)
}

// Buckets returns the buckets of the data file, except the store's own.
func Buckets() []schema.Bucket {
	return schema.OwnedBy(instance.Owner, slices.Concat(instance.Buckets(), link.Buckets(), kept.Buckets(), later.Buckets(), erasure.Buckets(), webhooks.Buckets(), messages.Buckets(), device.Buckets(), record.Buckets(), optout.Buckets(), media.Buckets(), alerts.Buckets(), pace.Buckets(), idempotency.Buckets(), clientversion.Buckets(), delivery.Buckets(), logbook.Buckets(), pull.Buckets(), receivers.Buckets(), access.Buckets(), samples.Buckets()))
}

// Start opens the listeners and starts everything behind them.
func Start(ctx context.Context, cfg *config.Config, sec config.Secrets, log *slog.Logger) (*App, error) {
	taken, err := Listen(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return StartOn(ctx, taken, cfg, sec, log, nil, nil)
}

// ErrInterrupted means that a start was ended by its context, and that all of it
// was undone in order.
var ErrInterrupted = errors.New("ended during the start")

// StartOn starts everything, from the file to the listeners, which it closes
// in any case, and returns when requests are answered. When a part cannot start,
// or ctx ends, those before it are stopped again. level is that of log, when it can
// be changed, lines are its last when they are kept.
func StartOn(ctx context.Context, taken Addresses, cfg *config.Config, sec config.Secrets, log *slog.Logger, level *loglevel.Level, lines *loglines.Ring) (*App, error) {
	a := &App{cfg: cfg, sec: sec, log: log, level: level, lines: lines, failed: make(chan error, 1), stopping: make(chan struct{}), led: make(chan struct{}), stops: &stopStack{log: log}}
	a.failures = peers.NewFailures(int(cfg.Authentication.FailuresPerMinute))
	a.metrics = newMetrics(a)
	if cfg.Store.URL != "" {
		return a, a.joinCell(ctx, taken)
	}
	if err := a.start(ctx, taken); err != nil {
		return nil, err
	}
	return a, nil
}

// start starts all parts in order.
func (a *App) start(ctx context.Context, taken Addresses) error {
	a.linkBase.url = taken.linkBase(a.cfg)
	for _, part := range []func(context.Context) error{
		a.startStore, a.startAccess, a.startHub, a.openDispatch, a.startSandbox, a.startMedia, a.startMessages, a.startInstances, a.startDispatch, a.startBatches, a.startProcessor, a.startScheduled, a.endKeys, a.startErasures, a.noteTakeover, a.startBackups, a.startSamples, a.startTroubles,
		func(context.Context) error { return a.serve(taken) },
	} {
		err := ctx.Err()
		if err == nil {
			err = part(ctx)
		}
		if err != nil {
			if a.cell == nil { // otherwise they serve
				taken.Close()
			}
			return a.takeBack(ctx, err)
		}
	}
	a.started = true
	close(a.led)
	return nil
}

// Led is closed when all parts run: when StartOn has returned or, at a node of a cell,
// when this process owns the cell.
func (a *App) Led() <-chan struct{} { return a.led }

// APIKey returns the key in force, once all parts run: in a cell it is the cell's.
func (a *App) APIKey() string { return a.sec.GlobalAuthToken }

// takeBack stops the parts that were started before cause ended the start. Once ctx has
// ended, the cause is not a failure: the start was cancelled.
func (a *App) takeBack(ctx context.Context, cause error) error {
	interrupted := ctx.Err() != nil
	a.stops.quiet = interrupted // one line tells all, and the caller writes it
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.Server.ShutdownTimeout)
	defer cancel()
	err := a.stops.stop(stopping)
	if interrupted && err == nil {
		return fmt.Errorf("%w: %w", ErrInterrupted, cause)
	}
	return errors.Join(cause, err)
}

// Stop stops everything until ctx ends; the rest is then aborted.
func (a *App) Stop(ctx context.Context) error {
	a.cell.leave()
	return a.stops.stop(ctx)
}

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

// startAccess reads keys, sessions and the audit log.
func (a *App) startAccess(context.Context) (err error) {
	if a.access.Keys, err = access.OpenKeys(a.store, a.log); err != nil {
		return err
	}
	if a.access.Book, err = access.OpenBook(a.store, a.log); err != nil {
		return err
	}
	a.access.Sessions, a.access.Links = access.NewSessions(a.store), access.NewLinks(a.store)
	a.access.Keys.Start()
	a.access.Book.Start(a.cfg.Audit.Retention, int(a.cfg.Audit.MaxEntries))
	a.stops.push("scoped keys", a.access.Keys.Stop)
	a.stops.push("audit log", a.access.Book.Stop)
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
		Proxy: forAll, CheckProxy: dispatch.Guard{}.CheckURL,
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
		Knows: a.known.Know, Pacer: a.pacer, FailureStreak: int(a.cfg.Batch.FailureStreak), UndeliveredAfter: wa.UndeliveredAfter, Logger: a.log,
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
