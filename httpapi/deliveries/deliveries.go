// Package deliveries has the routes of the delivery log, of replays and of the outbox.
//
// [API.Routes] returns the rows: method, path, credential, rights, handler, and the texts for the
// documents. No resource imports another: if one needs a call of another, it declares a function or an
// interface in [Config].
package deliveries

import (
	"context"

	"postern/batch"
	"postern/delivery/logbook"
	"postern/delivery/outbox"
	"postern/delivery/pull"
	"postern/delivery/receivers"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/rest"
	"postern/store"
)

// Config configures the handlers. All fields are required unless they say otherwise.
type Config struct {
	Deliveries *logbook.Log
	Relay      *dispatch.Relay
	Store      *store.Store
	Outbox     *outbox.Outbox  // of Store
	Consumers  *pull.Consumers // of Store
	Receivers  *receivers.Book // of Store
	// Example returns an example event of an instance, 0: of none, for a destination.
	Example func(instance int64, kind event.Kind, requestID string, to event.Destination) (event.Notice, error)
	// Post sends a notice to its first address, at once.
	Post func(context.Context, event.Notice) (status int, err error)
	// Durable reports whether the events of an instance are stored.
	Durable func(instance int64) bool
	Engine  *batch.Engine
	// CheckBatch refuses a scoped key that may not see the batch of a request.
	CheckBatch func(*rest.Call) error
}

// API has the handlers of the package.
type API struct {
	Config
	tests tests
}

// New returns the handlers, configured by c.
func New(c Config) *API { return &API{Config: c} }
