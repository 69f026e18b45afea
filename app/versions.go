package app

import (
	"postern/config"
	"postern/whatsapp/clientversion"
)

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
