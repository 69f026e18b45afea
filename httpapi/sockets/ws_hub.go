package sockets

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/console/feed"
	"postern/event"
)

// Stream is a WebSocket's subscription, after its token was accepted.
type Stream struct {
	Kinds     []event.Kind      // nil: all
	Since     *uint64           // replay after this sequence first
	Durable   bool              // an instance whose events are stored and numbered; without it no Since
	ExpiresAt time.Time         // of the token; zero: never
	Token     [sha256.Size]byte // its digest
	// Holder identifies the scoped key on which a session's token depends; zero for every other token.
	Holder [sha256.Size]byte
	// Scoped reports that the token is not the instance's own, which may be replaced.
	Scoped bool
	// Tells filters the messages about a user's batches: it returns the body to send, or
	// nil to skip it. It is called by one goroutine. nil: no filter.
	Tells func(body []byte) []byte
	// Check reports whether the token is still valid. It is called at a time from which a revocation would
	// reach the client; nil for a user's token.
	Check func() error
}

// Hub upgrades handshakes and serves their clients. After an error nothing was upgraded or answered;
// ErrAhead, ErrGone, ErrTooManySockets and ErrStopping give the reason.
type Hub interface {
	// OriginAllowed reports whether a page of this origin may connect to this host. The origin is empty if
	// the header is absent.
	OriginAllowed(origin, host string) bool
	ServeGlobal(w http.ResponseWriter, r *http.Request, user uuid.UUID, s Stream) error
	ServeInstance(w http.ResponseWriter, r *http.Request, instance int64, s Stream) error
	// ServeConsole sends all changes to the viewer. It uses only ExpiresAt, Token, Holder and Check of the
	// stream.
	ServeConsole(w http.ResponseWriter, r *http.Request, v feed.Viewer, s Stream) error
	// RevokeInstance closes the clients of an instance whose token was revoked.
	RevokeInstance(instance int64)
	// DropInstance closes all clients of a deleted instance.
	DropInstance(instance int64)
	// Revoke closes the clients with this token or holder, within a second.
	Revoke(token [sha256.Size]byte)
	// Renew changes when the clients with this token end; zero: never.
	Renew(token [sha256.Size]byte, expires time.Time)
}

// Reasons to refuse a handshake.
var (
	// ErrOrigin: the origin of the page is not allowed.
	ErrOrigin = errors.New("this origin is not allowed")
	// ErrAhead: since is newer than the newest event.
	ErrAhead = errors.New("since is ahead of the newest event")
	// ErrNotDurable: the events of the instance are not stored.
	ErrNotDurable = errors.New("since needs stored events; set durable in the options of the instance's webhook")
	// ErrGone: the events after since are no longer kept.
	ErrGone = errors.New("the events after since are older than the retention")
	// ErrTooManySockets: the token has reached its limit of WebSockets.
	ErrTooManySockets = errors.New("too many WebSockets with this token")
)
