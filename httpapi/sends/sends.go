// Package sends has the routes that send, edit or delete a message, and those of files:
// uploads ahead of a send, and the files of stored messages.
//
// [API.Routes] returns the rows: method, path, credential, rights, handler, and the texts for the documents. No
// resource imports another: if one needs a call of another, it declares a function or an interface in [Config].
package sends

import (
	"context"
	"io"

	"postern/httpapi/alerts"
	"postern/instance"
	"postern/instance/later"
	"postern/media"
	"postern/messages"
	"postern/store"
)

// Config configures the handlers. All fields are required unless they say otherwise.
type Config struct {
	Store        *store.Store
	Messages     *messages.Archive
	Supervisor   *instance.Supervisor
	Processor    *later.Processor // carries out asynchronous sends
	Scheduled    *later.Scheduler // keeps the sends of a later time
	Media        *media.Library
	MaxMedia     int64 // bytes of the file of a multipart body
	MaxInline    int64 // bytes of a file in a JSON body
	Alerts       *alerts.Book
	NewMessageID func() string // makes the WhatsApp id of one send
	// OpenKept opens the file of a message that is kept here, if there is one.
	OpenKept func(ctx context.Context, instance, message int64) (f io.ReadCloser, ok bool)
}

// API has the handlers of the package.
type API struct {
	Config
}

// New returns the handlers, configured by c.
func New(c Config) *API { return &API{Config: c} }
