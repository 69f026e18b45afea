// Package batches has the routes of batches and their items. What a scoped key may see of a batch depends on the
// instances of both.
//
// [API.Routes] returns the rows: method, path, credential, rights, handler, and the texts for the documents. No resource
// imports another: if one needs a call of another, it declares a function or an interface in [Config].
package batches

import (
	"postern/batch"
	"postern/batch/optout"
	"postern/dispatch"
	"postern/instance"
	"postern/media"
	"postern/messages"
	"postern/store"
)

// Config configures the handlers. All fields are required unless they say otherwise.
type Config struct {
	Engine     *batch.Engine
	OptOuts    *optout.Book
	Store      *store.Store
	Relay      *dispatch.Relay
	Registry   *instance.Registry
	Supervisor *instance.Supervisor
	Messages   *messages.Archive
	Media      *media.Library

	MaxRecipients int // of a batch; it sizes the body that batch creation takes
}

// API has the handlers of the package.
type API struct {
	Config
	turns turns
}

// New returns the handlers, configured by c.
func New(c Config) *API { return &API{Config: c} }
