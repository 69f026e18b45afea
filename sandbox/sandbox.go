package sandbox

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"postern/sandbox/network"
	"postern/sandbox/phone"
	"postern/store/schema"
)

// Types of the server's interface.
type (
	// Config configures Open.
	Config = network.Config
	// Endpoint is the address of a server, with what clients must trust.
	Endpoint = network.Endpoint
	// Faults disturb what clients send. The zero value is a healthy network.
	Faults = network.Faults
	// Phone is a simulated phone, see package phone.
	Phone = phone.Phone
	// CallStage is a stage of a call that a phone was notified of.
	CallStage = phone.CallStage
	// PhoneOptions describes a phone to add.
	PhoneOptions = phone.Options
	// Received is a message that a phone decrypted.
	Received = phone.Received
)

// UsualLatency is the Config.Latency of a sandbox that any client may use: about that of
// WhatsApp. Our own tests have none.
const UsualLatency = 100 * time.Millisecond

// Server is a network with its control routes. Its methods may be called from any
// goroutine.
type Server struct {
	*network.Server
	log *slog.Logger
}

// Open starts a network. The caller closes it. Errors of the data file are the store's.
func Open(cfg Config) (*Server, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	net, err := network.Open(cfg)
	if err != nil {
		return nil, err
	}
	return &Server{Server: net, log: cfg.Logger.With("component", "sandbox")}, nil
}

// Control serves the control routes, all below /sandbox. It requires no credential: the
// caller must check access.
func (s *Server) Control() http.Handler { return newControl(s.Server, s.log) }

// Buckets describes the data file.
func Buckets() []schema.Bucket { return network.Buckets() }

// RootKey returns the public root key of the sandbox with the data file at path. Its
// errors are those of store.ScanFile.
func RootKey(path string) ([32]byte, error) { return network.RootKey(path) }
