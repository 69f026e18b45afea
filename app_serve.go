package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/net/netutil"

	"postern/dashboard"
	"postern/httpapi"
	"postern/whatsapp"
)

// serve answers requests from now on.
func (a *app) serve(listener net.Listener) error {
	api := httpapi.Config{
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
	a.url = "http://" + listener.Addr().String()
	a.listen("listener", httpapi.NewServer(handler, a.log), listener)
	a.stops.push("waits for phones", func(context.Context) error { // they would hold the shutdown up
		a.supervisor.Interrupt()
		return nil
	})
	return nil
}

// maxConnections bounds the connections of clients to one listener, WebSockets
// included; more wait until one ends. Each costs some kilobytes and a file of
// the system.
const maxConnections = 20_000

// listen serves until the program stops; what is under way then has the time of
// the stop to end. A listener that ends by itself ends the program.
func (a *app) listen(name string, srv *http.Server, l net.Listener) {
	l = netutil.LimitListener(l, a.connections)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
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

// startMetrics serves the metrics at their own address too, without a
// credential, when there is one.
func (a *app) startMetrics(ctx context.Context) error {
	if a.cfg.Metrics.Listen == "" {
		return nil
	}
	listener, err := listenTCP(ctx, a.cfg.Metrics.Listen)
	if err != nil {
		return fmt.Errorf("%w; set metrics.listen to a free address", err)
	}
	a.listen("metrics listener", httpapi.NewServer(httpapi.NewMetrics(a.metrics.handler(), a.log), a.log), listener)
	return nil
}
