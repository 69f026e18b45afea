// Package instances has the routes of instances: their tokens, connection, webhook,
// settings, limits and proxy, portal links, and the transfer of an account.
//
// [API.Routes] returns the rows: method, path, credential, rights, handler, and the texts for the
// documents. No resource imports another: if one needs a call of another, it declares a function or an
// interface in [Config].
package instances

import (
	"context"
	"time"

	"postern/batch"
	"postern/console/trouble"
	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/media"
	"postern/store"
)

// Config configures the handlers. All fields are required unless they say otherwise.
type Config struct {
	Store      *store.Store
	Registry   *instance.Registry
	Supervisor *instance.Supervisor
	Engine     *batch.Engine
	Media      *media.Library
	MaxMedia   int64       // bytes of the file of a multipart body
	Hub        instanceHub // nil: there are no WebSockets
	Access     rest.Access
	JWTSecret  []byte        // HS256, of instance tokens
	TokenTTL   time.Duration // life of an instance token; 0: it does not expire
	Transfers  Transfers
	Portal     Portal

	// Post sends a notice to its first address, at once, and returns the status of the answer, 0 if there
	// was none; the error says why the receiver did not accept it.
	Post func(context.Context, event.Notice) (status int, err error)
	// Waiting returns how many events wait for the receivers of an instance.
	Waiting func(instance int64) (int, error)
	// Troubles returns what is wrong, by instance; MaySeeTrouble reports whether a call may see a kind of it.
	Troubles      func() map[int64][]trouble.Kind
	MaySeeTrouble func(*rest.Call, trouble.Kind) bool
}

// instanceHub closes the WebSockets of instances.
type instanceHub interface {
	// RevokeInstance closes the clients of an instance whose token was replaced.
	RevokeInstance(instance int64)
	// DropInstance closes the clients of a deleted instance.
	DropInstance(instance int64)
}

// API has the handlers of the package.
type API struct {
	Config
}

// New returns the handlers, configured by c.
func New(c Config) *API { return &API{Config: c} }
