package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
	_ "time/tzdata" // schedules name time zones, and the machine may have no database of them

	"postern/access"
	"postern/app/certificate"
	"postern/app/fleet"
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

	url       string                           // where the API is served
	socket    string                           // the Unix socket where it is, too; empty: none
	sandbox   *sandbox.Server                  // nil unless enabled
	certFiles *certificate.Files               // of server.tls.cert; nil without
	acme      *certificate.ACME                // of server.tls.domain; nil without
	certEnds  atomic.Pointer[func() time.Time] // when the certificate ends, zero without TLS; nil before the listener
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
		a.startStore, a.startAccess, a.startHub, a.openDispatch, a.startSandbox, a.startMedia, a.startMessages, a.startInstances, a.startDispatch, a.startBatches, a.startProcessor, a.startScheduled, a.endKeys, a.startErasures, a.noteTakeover, a.startBackups, a.startSamples, a.openTroubles,
		func(context.Context) error { return a.serve(taken) }, a.watchTroubles,
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
