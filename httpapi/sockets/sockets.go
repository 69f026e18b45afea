// Package sockets opens the WebSockets of events and of the console. [Hub] serves them.
//
// [API.Routes] returns the rows: method, path, credential, rights, handler, and the texts for the
// documents. No resource imports another: if one needs a call of another, it declares a function or an
// interface in [Config].
package sockets

import (
	"reflect"

	"github.com/google/uuid"

	"postern/access"
	"postern/httpapi/rest"
	"postern/instance"
)

// Config configures the handlers. All fields are required unless they say otherwise.
type Config struct {
	Hub      Hub // nil: there are no WebSockets
	Registry *instance.Registry
	Access   rest.Access
	APIKey   string // the GlobalApiKey

	// ConsoleMessage is the type of the messages of /ws/console, for the documents.
	ConsoleMessage reflect.Type

	// Tells returns a filter for the batch events that a client with a key gets: the
	// body to send, or nil to skip it. A nil filter means no filter.
	Tells func(*access.Key) func(body []byte) []byte
	// Sees returns what the credential of a call may see of troubles, see feed.Viewer.
	Sees func(*rest.Call) any
	// MaySee reports whether a key is for an instance of a batch of its user.
	MaySee func(k *access.Key, batch uuid.UUID) bool
}

// API has the handlers of the package.
type API struct {
	Config
}

// New returns the handlers, configured by c.
func New(c Config) *API { return &API{Config: c} }
