package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"

	"postern/app/accounts"
	"postern/app/certificate"
	"postern/app/hub"
	"postern/console/page"
	"postern/httpapi"
	"postern/httpapi/alerts"
	"postern/httpapi/idempotency"
	"postern/httpapi/instances"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/internal/peers"
	"postern/mcp"
	"postern/whatsapp"
)

// serve starts to answer requests.
func (a *App) serve(taken Addresses) error {
	proxies, err := a.proxies()
	if err != nil {
		return err
	}
	carry := &accounts.Running{
		Accounts:   accounts.Accounts{Store: a.store, Devices: a.known.Devices, Messages: a.messages, Registry: a.registry, Version: version},
		Supervisor: a.supervisor, Media: a.media, MaxBytes: 2 * a.cfg.Media.MaxBytes,
		Secret: []byte(a.sec.JWTSecret), TokenTTL: seconds(a.cfg.Authentication.JWTExpiresIn), Log: a.log,
	}
	api := httpapi.Config{
		Config: rest.Config{
			Access: a.access, Store: a.store, APIKey: a.sec.GlobalAuthToken, KeyOpensInstances: a.cfg.Authentication.GlobalKeyOpensInstances, JWTSecret: []byte(a.sec.JWTSecret),
			Proxies: proxies, Failures: a.failures, BaseURL: a.cfg.PublicURL(), BasePath: a.cfg.Server.BasePath, Stopping: a.stopping, Logger: a.log,
			Answered: a.known.Devices.Answered,
		},
		Program: operator.Program{
			Backup: a.archive, Ready: a.notReady, Role: a.cell.role(), Cluster: a.cell.status(), Warnings: a.warnings, Settings: a.settingList, Support: a.writeSupport, Samples: a.samples, Troubles: a.troubles,
			KeptFiles: a.keptFiles, LogLevel: a.level, LogLines: a.lines, Metrics: a.metrics.of, AgentTools: mcp.Calls(),
		},
		Registry: a.registry, Messages: a.messages, Supervisor: a.supervisor, Engine: a.engine, OptOuts: a.optouts, Processor: a.processor, Scheduled: a.scheduled, Erasures: a.erasures, Media: a.media, MaxMedia: a.cfg.Media.MaxBytes, MaxInline: a.cfg.Media.MaxInline,
		Links: a.links, Fetched: a.fetched, Kept: a.kept, LinkTTL: a.cfg.Media.LinkTTL, FileServed: a.metrics.served,
		Outbox: a.outbox, Relay: a.relay, Deliveries: a.deliveries, Consumers: a.consumers, Receivers: a.receivers, Alerts: alerts.NewBook(a.store, a.log), NewMessageID: whatsapp.NewMessageID, Post: a.postNow,
		Transfers: instances.Transfers{Export: carry.Export, Undo: carry.Undo, Import: carry.Import}, TokenTTL: seconds(a.cfg.Authentication.JWTExpiresIn),
		MaxRecipients: int(a.cfg.Batch.MaxRecipients), Version: version, Pages: page.Pages(),
	}
	if api.Portal, err = a.portal(); err != nil {
		return err
	}
	if a.backups != nil {
		api.Backups = a.backups.State
	}
	if a.cfg.Websocket.Enabled {
		api.Hub = hub.Adapter{Hub: a.hub, Console: a.console}
	}
	if a.sandbox != nil {
		api.Sandbox = a.sandbox.Control()
	}
	own := a.startAgents(&api, proxies)
	handler, err := httpapi.New(api)
	if err != nil {
		return err
	}
	a.api = handler
	own.Serve(handler)
	if handler, err = httpapi.Below(handler, a.cfg.Server.BasePath); err != nil {
		return err
	}
	api.Alerts.Start()
	a.stops.push("sent alerts", api.Alerts.Stop)
	keys := idempotency.NewPruner(a.store, a.log)
	keys.Start()
	a.stops.push("idempotency keys", keys.Stop)
	warnRoom(a.log, len(a.registry.List()), peers.Descriptors(), debug.SetMemoryLimit(-1))
	handler = rest.AllowOrigins(handler, a.cfg.Server.CORSOrigins)
	if a.cell != nil {
		a.cell.serve(a, handler)
	} else if err := a.open(taken, proxies, handler, a.metrics.handler()); err != nil {
		return err
	}
	a.stops.pushFunc("waits for phones and receivers", func() { // they would hold the shutdown up
		close(a.stopping)
		a.supervisor.Interrupt()
		a.queue.Interrupt()
	})
	return nil
}

// open begins to answer at the listeners.
func (a *App) open(taken Addresses, proxies peers.Proxies, api, scraped http.Handler) error {
	secure, err := a.serverTLS()
	if err != nil {
		return err
	}
	a.clients = a.limited(taken.api(), clientConnections(peers.Descriptors(), a.ours()), proxies, true)
	if taken.metrics != nil { // without a credential, at an address of its own
		scrapes := a.limited(taken.metrics, scrapeConnections, proxies, false)
		a.listen("metrics listener", httpapi.NewServer(httpapi.NewMetrics(scraped, a.log), a.log), scrapes, nil)
	}
	a.url = taken.url(secure != nil, a.cfg.Server.BasePath)
	if taken.socket != nil {
		a.socket = taken.socket.Addr().String()
	}
	a.listen("listener", httpapi.NewServer(api, a.log), a.clients, secure)
	if a.acme != nil {
		a.acme.Start()
	}
	return nil
}

// proxies returns the reverse proxies that are trusted.
func (a *App) proxies() (peers.Proxies, error) {
	proxies, err := peers.ParseProxies(a.cfg.Server.TrustedProxies)
	if err != nil {
		return proxies, fmt.Errorf("server.trusted_proxies: %w", err)
	}
	return proxies, nil
}

// serverTLS returns the TLS configuration of the API, nil without TLS.
func (a *App) serverTLS() (*tls.Config, error) {
	var err error
	if a.acme, err = certificate.NewACME(a.cfg, version, a.log); err != nil {
		return nil, err
	}
	if a.acme != nil {
		ends := a.acme.Expires
		a.certEnds.Store(&ends)
		a.stops.push("certificates", a.acme.Stop)
		return a.acme.Config(), nil
	}
	a.certFiles, err = certificate.Open(a.cfg, a.log)
	ends := a.certFiles.Expires
	a.certEnds.Store(&ends)
	return a.certFiles.Config(), err
}

// Dashboard returns the address of the console for a browser: the public one where
// it is known, and never the one that stands for all interfaces. It is empty when
// only a Unix socket is known.
func (a *App) Dashboard() string {
	if public := a.cfg.PublicURL(); public != "" {
		return public + "/"
	}
	scheme, address, found := strings.Cut(a.url, "//")
	if !found {
		return ""
	}
	address = strings.TrimSuffix(address, a.cfg.Server.BasePath)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return a.url + "/"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "//" + net.JoinHostPort(host, port) + a.cfg.Server.BasePath + "/"
}

// listen serves, with TLS unless secure is nil, until the program stops; requests in
// progress then have the time of the stop to end. A listener that ends by itself ends the
// program.
func (a *App) listen(name string, srv *http.Server, l *peers.Listener, secure *tls.Config) {
	serve := func() error { return l.Serve(srv) }
	if secure != nil {
		serve = func() error { return l.ServeTLS(srv, secure) }
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			select {
			case a.failed <- fmt.Errorf("%s: %w", name, err):
			default: // another one has ended before
			}
		}
	}()
	stop := func(ctx context.Context) error {
		err := srv.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, srv.Close())
		}
		<-ended
		return err
	}
	a.stops.push(name, stop)
	if a.cell != nil {
		a.cell.listeners = append(a.cell.listeners, stop)
	}
}
