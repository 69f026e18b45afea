package httpapi

import (
	"postern/batch"
	"postern/delivery"
	"postern/dispatch"
	"postern/httpapi/rest"
	"postern/store"
)

// deliveriesConfig is what the handlers need. All fields are required but those that say
// otherwise.
type deliveriesConfig struct {
	Deliveries *delivery.Ledger
	Relay      *dispatch.Relay
	Store      *store.Store
	Engine     *batch.Engine
	// CheckBatch refuses a scoped key that may not see the batch of a request.
	CheckBatch func(*rest.Call) error
}

// deliveriesAPI has the handlers of the package.
type deliveriesAPI struct {
	deliveriesConfig
}

// newDeliveries returns the handlers, which need c.
func newDeliveries(c deliveriesConfig) *deliveriesAPI { return &deliveriesAPI{deliveriesConfig: c} }
