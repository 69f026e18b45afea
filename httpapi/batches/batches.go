package batches

import (
	"postern/batch"
	"postern/dispatch"
	"postern/instance"
	"postern/media"
	"postern/messages"
	"postern/store"
)

// Config is what the handlers need. All fields are required but those that say
// otherwise.
type Config struct {
	Engine   *batch.Engine
	Store    *store.Store
	Relay    *dispatch.Relay
	Registry *instance.Registry
	Messages *messages.Archive
	Media    *media.Library

	MaxRecipients int // of a batch; it sizes the body that batch creation takes
}

// API has the handlers of the package.
type API struct {
	Config
}

// New returns the handlers, which need c.
func New(c Config) *API { return &API{Config: c} }
