package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"postern/dashboard"
	"postern/httpapi"
	"postern/peers"
	"postern/whatsapp"
)

// addresses are those that the program listens on. They are taken before anything
// else is done: when one is in use, nothing has happened yet.
type addresses struct {
	api     net.Listener
	metrics net.Listener // nil: the metrics have no address of their own
}

func takeAddresses(ctx context.Context, cfg *Config) (taken addresses, err error) {
	if taken.api, err = listenTCP(ctx, cfg.listenAddress()); err != nil {
		return addresses{}, fmt.Errorf("%w; set server.listen to a free address", err)
	}
	if cfg.Metrics.Listen == "" {
		return taken, nil
	}
	if taken.metrics, err = listenTCP(ctx, cfg.Metrics.Listen); err != nil {
		taken.close()
		return addresses{}, fmt.Errorf("%w; set metrics.listen to a free address", err)
	}
	return taken, nil
}

// close gives up what no server has taken over; one that has, has closed it.
func (t addresses) close() {
	_ = t.api.Close()
	if t.metrics != nil {
		_ = t.metrics.Close()
	}
}

// serve answers requests from now on.
func (a *app) serve(taken addresses) error {
	proxies, err := peers.ParseProxies(a.cfg.Server.TrustedProxies)
	if err != nil {
		return fmt.Errorf("server.trusted_proxies: %w", err)
	}
	api := httpapi.Config{
		Proxies: proxies, Failures: a.failures,
		Registry: a.registry, Supervisor: a.supervisor, Engine: a.engine, Processor: a.processor,
		Media: a.media, MaxMedia: a.cfg.Media.MaxBytes, Store: a.store,
		NewMessageID: whatsapp.NewMessageID, Post: a.postNow, Version: version, BaseURL: a.cfg.Server.BaseURL,
		APIKey: a.sec.GlobalAuthToken, JWTSecret: []byte(a.sec.JWTSecret), TokenTTL: seconds(a.cfg.Authentication.JWTExpiresIn),
		MaxRecipients: int(a.cfg.Batch.MaxRecipients), Ready: a.notReady, Metrics: a.metrics.handler(), Pages: dashboard.Pages(), Logger: a.log,
	}
	api.Relay = a.relay
	if a.cfg.Websocket.Enabled {
		api.Hub = hubAdapter{a.hub}
	}
	if a.sandbox != nil {
		api.Sandbox = a.sandbox.Control()
	}
	handler, err := httpapi.New(api)
	if err != nil {
		return err
	}
	keys := httpapi.NewKeyPruner(a.store, a.log)
	keys.Start()
	a.stops.push("idempotency keys", keys.Stop)
	a.clients = a.limited(taken.api, clientConnections(peers.Descriptors(), a.ours()), proxies)
	if taken.metrics != nil { // without a credential, at an address of its own
		scrapes := a.limited(taken.metrics, scrapeConnections, proxies)
		a.listen("metrics listener", httpapi.NewServer(httpapi.NewMetrics(a.metrics.handler(), a.log), a.log), scrapes)
	}
	a.url = "http://" + taken.api.Addr().String()
	a.listen("listener", httpapi.NewServer(handler, a.log), a.clients)
	a.stops.push("waits for phones and receivers", func(context.Context) error { // they would hold the shutdown up
		a.supervisor.Interrupt()
		a.queue.Interrupt()
		return nil
	})
	return nil
}

// dashboard is the address that a browser may be pointed at: the public one where
// it is known, and never the one that stands for all interfaces.
func (a *app) dashboard() string {
	if base := a.cfg.Server.BaseURL; base != "" {
		return strings.TrimSuffix(base, "/") + "/"
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		return a.url + "/"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

// listen serves until the program stops; what is under way then has the time of
// the stop to end. A listener that ends by itself ends the program.
func (a *app) listen(name string, srv *http.Server, l *peers.Listener) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := l.Serve(srv); !errors.Is(err, http.ErrServerClosed) {
			select {
			case a.failed <- fmt.Errorf("%s: %w", name, err):
			default: // another one has ended before
			}
		}
	}()
	a.stops.push(name, func(ctx context.Context) error {
		err := srv.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, srv.Close())
		}
		<-ended
		return err
	})
}
