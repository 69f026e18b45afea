package httpapi

import (
	"postern/instance"
	"postern/media"
)

// chatsConfig is what the handlers need. All fields are required but those that say
// otherwise.
type chatsConfig struct {
	Registry   *instance.Registry
	Supervisor *instance.Supervisor
	Media      *media.Library
	MaxMedia   int64 // bytes of the file of a multipart body
}

// chatsAPI has the handlers of the package.
type chatsAPI struct {
	chatsConfig
}

// newChats returns the handlers, which need c.
func newChats(c chatsConfig) *chatsAPI { return &chatsAPI{chatsConfig: c} }
