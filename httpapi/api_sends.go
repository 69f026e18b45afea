package httpapi

import (
	"postern/httpapi/alerts"
	"postern/instance"
	"postern/media"
	"postern/store"
)

// sendsConfig is what the handlers need. All fields are required but those that say
// otherwise.
type sendsConfig struct {
	Store        *store.Store
	Registry     *instance.Registry
	Supervisor   *instance.Supervisor
	Processor    *instance.Processor // carries out asynchronous sends
	Media        *media.Library
	MaxMedia     int64 // bytes of the file of a multipart body
	Alerts       *alerts.Book
	NewMessageID func() string // makes the WhatsApp id of one send
}

// sendsAPI has the handlers of the package.
type sendsAPI struct {
	sendsConfig
}

// newSends returns the handlers, which need c.
func newSends(c sendsConfig) *sendsAPI { return &sendsAPI{sendsConfig: c} }
