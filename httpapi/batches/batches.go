// Package batches has the routes of batches and their items. What a scoped key may see
// of a batch depends on the instances of both.
//
// [API.Routes] are the rows: method, path, credential, rights, handler, and the words for
// the documents. No resource imports another: a call that one needs of another is a
// function or an interface in [Config].
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
