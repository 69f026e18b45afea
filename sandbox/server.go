package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"go.mau.fi/whatsmeow/types"
)

// Sentinels of the server. Phone's are in phone.go, those of the codes in package handset.
var (
	ErrNumber    = errors.New("not a number of the sandbox's network")       // AddPhone, Drop and the like
	ErrExists    = errors.New("the phone already exists")                    // AddPhone
	ErrLID       = errors.New("not a free LID")                              // AddPhone
	ErrNoPairing = errors.New("no connection waits to be paired by this code") // Scan, AutoScan
	ErrPairing   = errors.New("the client did not complete the pairing")     // Scan, AutoScan
	ErrClosed    = errors.New("the sandbox is closed")
)

// Config is what Open needs.
type Config struct {
	// Listen is the TCP address; empty means a free port of 127.0.0.1.
	Listen string
	// Path names the data file, which is made when missing. Empty keeps everything in
	// memory: certificates, accounts, links and queues end with the process.
	Path string
	// Logger receives what happens; nil discards it.
	Logger *slog.Logger

	authority *authority // tests share one, since clients know a single root key per process
}

// Endpoint is where clients find a server and what they have to trust.
type Endpoint struct {
	URL     string   // wss://host:port/ws/chat; media is served at the same host and port
	CA      []byte   // PEM certificate that issues the TLS certificate
	RootKey [32]byte // public key that signs the Noise certificate chain
}

// Server is one running network: the WebSocket and media listener, its accounts and their
// phones. Its methods are safe for concurrent use.
type Server struct {
	log       *slog.Logger
	authority *authority
	persist   *persistence
	listener  net.Listener
	http      *http.Server
	media     *mediaStore
	tasks     sync.WaitGroup // everything that Close waits for

	mu       sync.Mutex // guards everything below, and the accounts and devices in it
	closed   bool
	byPN     map[string]*account
	byLID    map[string]*account
	pending  map[string]*conn       // unpaired connections by ref
	hellos   []*companionHello      // waiting link codes, oldest first
	conns    map[*conn]struct{}     // open connections
	watchers map[types.JID]watchSet // who subscribed to an account's presence, by LID
	faults   Faults
	nextAuto int // the next number that AutoScan tries
}

// Endpoint returns the address and the trust anchors of the server.
func (s *Server) Endpoint() Endpoint {
	return Endpoint{URL: s.url(), CA: s.authority.caPEM(), RootKey: s.authority.rootPub()}
}

func (s *Server) url() string {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return fmt.Sprintf("wss://%s/ws/chat", net.JoinHostPort(host, port))
}
