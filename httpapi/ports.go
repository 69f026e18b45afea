package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// What the methods of Connections can fail with, besides the
// errors of event and store.
var (
	// ErrNoCode: WhatsApp gave no QR code or pairing code in time.
	ErrNoCode = errors.New("WhatsApp did not answer in time")
	// ErrOnline: the instance is connected and needs no pairing.
	ErrOnline = errors.New("the instance is connected already")
	// ErrNeverPaired: the instance has no account.
	ErrNeverPaired = errors.New("the instance was never paired")
	// ErrNotStored: WhatsApp took the message and the store did not.
	ErrNotStored = errors.New("the message was sent, but not stored")
)

// Connect is where a connect stands when it is answered.
type Connect struct {
	Count             int    // codes shown in this attempt
	Code, Base64      string // empty when there is nothing to scan
	State             event.State
	AlreadyConnected  bool
	AlreadyConnecting bool
	OwnerJID          string
}

// Connection is the truth about an instance's socket. Zero fields are unknown.
type Connection struct {
	State           event.State
	Reason          int // WhatsApp's code
	Connected       bool
	LoggedIn        bool
	OwnerJID        string
	LastConnectedAt time.Time
	LastReceivedAt  time.Time
	LastSentAt      time.Time
	LastError       string
}

// Text is a message to send on behalf of an API call.
type Text struct {
	To                 event.Recipient
	Content            event.Content
	ExternalAttributes event.Attributes // nil: none
}

// Connections is the supervisor of the instances' sockets. The request id is
// that of the call, for the events that it causes.
type Connections interface {
	Connect(ctx context.Context, id int64, requestID string) (Connect, error)                 // ErrNoCode
	PairingCode(ctx context.Context, id int64, phone, requestID string) (string, error)       // ErrOnline, ErrNoCode
	Status(id int64) (Connection, error)                                                      // instance.ErrNotFound
	Logout(ctx context.Context, id int64, requestID string) error                             // ErrNeverPaired
	Restart(ctx context.Context, id int64, requestID string) error                            // event.ErrNotConnected
	SendText(ctx context.Context, id int64, t Text, requestID string) (*event.Message, error) // ErrNotStored
}

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
}

// Errors of a Hub.
var (
	// ErrOrigin: the page that the request comes from is not allowed.
	ErrOrigin = errors.New("this origin is not allowed")
	// ErrAhead: since is newer than the newest event.
	ErrAhead = errors.New("since is ahead of the newest event")
	// ErrGone: the events after since are not kept any more.
	ErrGone = errors.New("the events after since are older than the retention")
)
