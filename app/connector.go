package app

import (
	"time"

	"postern/app/upstream"
	"postern/config"
	"postern/dispatch"
	"postern/instance"
	"postern/whatsapp"
	"postern/whatsapp/clientversion"
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
	e, err := upstream.Endpoint(a.cfg)
	return e, config.Faulty(err)
}

// proxyForAll returns the URL of the proxy for instances without one of their own.
func (a *App) proxyForAll() (string, error) {
	url, server, err := upstream.Proxy(a.cfg)
	if !server.IsZero() {
		a.log.Info("the environment sets a proxy for all instances", "variable", "HTTPS_PROXY", "proxy", server)
	}
	return url, config.Faulty(err)
}

// wrongNetworks describes how many accounts are not connected because they belong to other
// networks, and what to set; empty for none.
func (a *App) wrongNetworks() string {
	elsewhere := a.registry.Elsewhere()
	if len(elsewhere) == 0 {
		return ""
	}
	message, advice := upstream.Elsewhere(elsewhere, a.home)
	return message + "; " + advice
}

// openVersions has connections say the right version of the client.
func (a *App) openVersions() (err error) {
	a.versions, err = clientversion.Open(clientversion.Config{
		Store: a.store, Setting: a.cfg.WhatsApp.Version, Network: a.network(), Client: a.whatsapp, Logger: a.log,
		// The supervisor comes after this, and before anything is refused.
		Refused: func() []int64 { return a.supervisor.Outdated() },
		Renew:   func(found bool) { a.supervisor.Renew(found) },
	})
	return err
}

// network says who stands in for WhatsApp, empty when it is WhatsApp.
func (a *App) network() string {
	if a.sandbox != nil {
		return "sandbox"
	}
	return config.MaskURL(a.cfg.WhatsApp.Endpoint)
}
