// Package chats has the routes of chats and their contents: stored messages, contacts, groups,
// newsletters and labels.
//
// [API.Routes] returns the rows: method, path, credential, rights, handler, and the texts for the
// documents. No resource imports another: if one needs a call of another, it declares a function or
// an interface in [Config].
package chats

import (
	"postern/instance"
	"postern/instance/erasure"
	"postern/media"
	"postern/messages"
)

// Config configures the handlers. All fields are required unless they say otherwise.
type Config struct {
	Registry   *instance.Registry
	Messages   *messages.Archive
	Supervisor *instance.Supervisor
	Media      *media.Library
	MaxMedia   int64 // bytes of the file of a multipart body
	Erasures   *erasure.Book
}

// API has the handlers of the package.
type API struct {
	Config
}

// New returns the handlers, configured by c.
func New(c Config) *API { return &API{Config: c} }
