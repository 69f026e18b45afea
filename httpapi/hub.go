package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// Stream is what a WebSocket asked for, after its token was accepted.
type Stream struct {
	Kinds     []event.Kind // nil: all
	Since     *uint64      // global only: replay after this sequence first
	ExpiresAt time.Time    // of the token; zero: never
}

// Hub upgrades handshakes and serves them until they end. An error means that
// nothing was upgraded or answered; ErrOrigin, ErrAhead and ErrGone say why.
type Hub interface {
	ServeGlobal(w http.ResponseWriter, r *http.Request, user uuid.UUID, s Stream) error
	ServeInstance(w http.ResponseWriter, r *http.Request, instance int64, s Stream) error
	// RevokeInstance closes the clients of an instance whose token is worth
	// nothing any more.
	RevokeInstance(instance int64)
}

// Errors of a Hub.
var (
	// ErrOrigin: the page that the request comes from is not allowed.
	ErrOrigin = errors.New("this origin is not allowed")
	// ErrAhead: since is newer than the newest event.
	ErrAhead = errors.New("since is ahead of the newest event")
	// ErrNoReplay: this hub sends live events only.
	ErrNoReplay = errors.New("since is not available; leave it out to get live events")
	// ErrGone: the events after since are not kept any more.
	ErrGone = errors.New("the events after since are older than the retention")
)
