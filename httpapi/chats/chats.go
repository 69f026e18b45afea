// Package chats has the routes of chats and what is in them: stored messages, contacts,
// groups, newsletters and labels.
//
// [API.Routes] are the rows: method, path, credential, rights, handler, and the words for
// the documents. No resource imports another: a call that one needs of another is a
// function or an interface in [Config].
package chats

import (
	"postern/instance"
	"postern/media"
	"postern/messages"
)

// Config is what the handlers need. All fields are required but those that say
// otherwise.
type Config struct {
	Registry   *instance.Registry
	Messages   *messages.Archive
	Supervisor *instance.Supervisor
	Media      *media.Library
	MaxMedia   int64 // bytes of the file of a multipart body
}

// API has the handlers of the package.
type API struct {
	Config
}

// New returns the handlers, which need c.
func New(c Config) *API { return &API{Config: c} }
