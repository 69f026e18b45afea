package app

import (
	"crypto/x509"
	"fmt"
	"time"

	"postern/config"
	"postern/dispatch"
	"postern/instance"
	"postern/whatsapp"
	"postern/whatsapp/device"
	"postern/whatsapp/proxy"
)

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

func (a *App) connector(devices *device.Container) (instance.Connector, error) {
	endpoint, err := a.endpoint()
	if err != nil {
		return nil, err
	}
	a.home = endpoint.Network()
	devices.KeepLoggedOut(a.cfg.WhatsApp.KeepLoggedOut)
	if endpoint != nil {
		setting := "whatsapp.endpoint"
		if endpoint.Sandbox {
			setting = "sandbox.enabled"
		}
		a.log.Warn("NOT connected to WhatsApp: all instances use another server; for real accounts remove the setting that this line names",
			"endpoint", config.MaskURL(endpoint.URL), "setting", setting)
	}
	wa := a.cfg.WhatsApp
	quiet := wa.QuietReconnect
	if !wa.AutoReconnect {
		quiet = 0 // nothing would reconnect it
	}
	c, err := whatsapp.New(whatsapp.Config{
		Devices: devices, Endpoint: endpoint,
		// The registry exists before anything is dialled.
		Proxy:           func(id int64, use proxy.Use) (proxy.Server, error) { return a.registry.Via(id, use) },
		Proxies:         proxy.Dialer{Control: dispatch.Guard{}.Control}, // many are in private networks
		OnUndecryptable: func(id int64) { a.registry.CountUndecryptable(id) },
		Media:           a.media, UploadTimeout: uploadTimeout, ClientName: wa.ClientName, ClientType: wa.ClientType,
		ConnectTimeout: seconds(wa.ConnectTimeout), SendTimeout: a.cfg.Message.SendTimeout, TurnTimeout: a.cfg.Message.TurnTimeout, PairingTimeout: wa.PairingTimeout,
		KeepAliveInterval: wa.KeepaliveInterval, KeepAliveTimeout: wa.KeepaliveTimeout, StateRecoveryDelay: wa.StateRecoveryDelay, QuietReconnect: quiet,
		History: a.historyWish, TempDir: a.cfg.Store.Path + ".media",
		QRLight: a.cfg.QRCode.LightColor, QRDark: a.cfg.QRCode.DarkColor, QRLimit: int(a.cfg.QRCode.Limit), Logger: a.log,
	})
	if err != nil {
		return nil, err
	}
	a.whatsapp = c
	return connector{c}, nil
}

// endpoint returns the server that clients connect to instead of WhatsApp, or nil.
func (a *App) endpoint() (*whatsapp.Endpoint, error) {
	if a.sandbox != nil {
		e := a.sandbox.Endpoint()
		return &whatsapp.Endpoint{URL: e.URL, CA: e.CA, RootKey: e.RootKey, Sandbox: true}, nil
	}
	e, err := configuredEndpoint(a.cfg)
	return e, config.Faulty(err)
}

// configuredEndpoint returns the endpoint of whatsapp.endpoint, nil for WhatsApp itself.
func configuredEndpoint(cfg *config.Config) (*whatsapp.Endpoint, error) {
	wa := cfg.WhatsApp
	if wa.Endpoint == "" {
		return nil, nil
	}
	e := &whatsapp.Endpoint{URL: wa.Endpoint}
	var err error
	if e.CA, err = config.ReadSmall(wa.EndpointCA, config.MaxPEM); err != nil {
		return nil, fmt.Errorf("whatsapp.endpoint_ca: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(e.CA) {
		return nil, fmt.Errorf("whatsapp.endpoint_ca: %s has no certificate in PEM", wa.EndpointCA)
	}
	if e.RootKey, err = config.ParseRootKey(wa.EndpointRootKey); err != nil {
		return nil, fmt.Errorf("whatsapp.endpoint_root_key: %w", err)
	}
	return e, nil
}
