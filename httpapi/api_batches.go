package httpapi

import (
	"postern/batch"
	"postern/dispatch"
	"postern/instance"
	"postern/media"
	"postern/store"
)

// batchesConfig is what the handlers need. All fields are required but those that say
// otherwise.
type batchesConfig struct {
	Engine   *batch.Engine
	Store    *store.Store
	Relay    *dispatch.Relay
	Registry *instance.Registry
	Media    *media.Library

	MaxRecipients int // of a batch; it sizes the body that batch creation takes
}

// batchesAPI has the handlers of the package.
type batchesAPI struct {
	batchesConfig
}

// newBatches returns the handlers, which need c.
func newBatches(c batchesConfig) *batchesAPI { return &batchesAPI{batchesConfig: c} }
