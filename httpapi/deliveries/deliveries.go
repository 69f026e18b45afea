// Package deliveries has the routes of the delivery log, of replays and of the outbox.
//
// [API.Routes] are the rows: method, path, credential, rights, handler, and the words for
// the documents. No resource imports another: a call that one needs of another is a
// function or an interface in [Config].
package deliveries

import (
	"postern/batch"
	"postern/delivery"
	"postern/delivery/outbox"
	"postern/dispatch"
	"postern/httpapi/rest"
	"postern/store"
)

// Config is what the handlers need. All fields are required but those that say
// otherwise.
type Config struct {
	Deliveries *delivery.Ledger
	Relay      *dispatch.Relay
	Store      *store.Store
	Outbox     *outbox.Outbox // of Store
	Engine     *batch.Engine
	// CheckBatch refuses a scoped key that may not see the batch of a request.
	CheckBatch func(*rest.Call) error
}

// API has the handlers of the package.
type API struct {
	Config
}

// New returns the handlers, which need c.
func New(c Config) *API { return &API{Config: c} }
