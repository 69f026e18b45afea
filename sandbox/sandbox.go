package sandbox

import (
	"log/slog"
	"net/http"

	"postern/sandbox/network"
	"postern/sandbox/phone"
	"postern/store"
)

// What callers of a Server name.
type (
	// Config is what Open needs.
	Config = network.Config
	// Endpoint is where clients find a server and what they have to trust.
	Endpoint = network.Endpoint
	// Faults disturb what clients send. The zero value is a healthy network.
	Faults = network.Faults
	// Phone is a simulated phone, see package phone.
	Phone = phone.Phone
	// CallStage is what a phone was told of a call.
	CallStage = phone.CallStage
	// PhoneOptions describes a phone to add.
	PhoneOptions = phone.Options
	// Received is a message that a phone decrypted.
	Received = phone.Received
)

// Server is a network with its control routes. Its methods are safe for concurrent use.
type Server struct {
	*network.Server
	log *slog.Logger
}

// Open starts a network. The caller closes it. Errors of the data file are the store's.
func Open(cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	net, err := network.Open(cfg)
	if err != nil {
		return nil, err
	}
	return &Server{Server: net, log: cfg.Logger.With("component", "sandbox")}, nil
}

// Control serves the control routes, all of them below /sandbox. It asks for no credential:
// the caller puts its own check in front.
func (s *Server) Control() http.Handler { return newControl(s.Server, s.log) }

// Buckets describes the data file.
func Buckets() []store.Bucket { return network.Buckets() }

// RootKey is the public root key of the sandbox whose data file is at path. Errors are
// those of store.LookInto.
func RootKey(path string) ([32]byte, error) { return network.RootKey(path) }
