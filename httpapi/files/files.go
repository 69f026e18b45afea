// Package files has the routes that serve the files of stored messages to whatever can
// send a GET: by the instance's credential, or by a link whose token is the credential.
//
// A file comes from a stranger. [API.serve] answers with a content type that follows from
// the bytes, and with headers that keep a browser from running anything in it.
package files

import (
	"time"

	"postern/instance"
	"postern/media/cache"
	"postern/media/kept"
	"postern/media/link"
	"postern/messages"
	"postern/store"
)

// Config configures the handlers. All fields are required unless they say otherwise.
type Config struct {
	Store      *store.Store
	Messages   *messages.Archive
	Supervisor *instance.Supervisor
	Links      *link.Links
	Cache      *cache.Cache
	Kept       *kept.Keeper
	MaxMedia   int64         // bytes of a fetched file
	LinkTTL    time.Duration // of a link without expiresIn

	// Served is called with the status of each answer of a file. It may be nil.
	Served func(status int)
}

// API has the handlers of the package.
type API struct {
	Config

	answers *places
}

// New returns the handlers, configured by c.
func New(c Config) *API {
	if c.Served == nil {
		c.Served = func(int) {}
	}
	return &API{Config: c, answers: newPlaces(maxAnswers, maxAnswersOfOne)}
}
