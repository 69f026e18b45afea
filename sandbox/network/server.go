package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/internal/peers"
	"postern/sandbox/network/appstate"
	"postern/sandbox/network/mediahost"
	"postern/sandbox/network/posts"
	"postern/sandbox/phone"
)

// Sentinels of the server. Those of phones are in package phone, those of the codes in package handset.
var (
	ErrNumber    = errors.New("not a number of the sandbox's network")         // AddPhone, Drop and the like
	ErrExists    = errors.New("the phone already exists")                      // AddPhone
	ErrLID       = errors.New("not a free LID")                                // AddPhone
	ErrNoPairing = errors.New("no connection waits to be paired by this code") // Scan, AutoScan
	ErrPairing   = errors.New("the client did not complete the pairing")       // Scan, AutoScan
	ErrClosed    = errors.New("the sandbox is closed")
)

// Limits of client connections.
const (
	minClients = 8
	maxClients = 20_000
)

// Config configures Open.
type Config struct {
	// Listen is the TCP address; empty means a free port of 127.0.0.1.
	Listen string
	// Path is the data file, which is created if missing. Empty keeps everything in
	// memory: certificates, accounts, links and queues end with the process.
	Path string
	// Logger may be nil.
	Logger *slog.Logger

	// Authority is what clients trust; nil reads that of the data file, or creates
	// one. Networks of one process share one, since the client library has a single
	// root key.
	Authority *Authority
	// Latency is the time from the end of a handshake to the server's first stanza, and from
	// the end of a pairing to its stream error. On a network each is a round trip at least.
	// Some clients lose a stanza that comes at once.
	Latency time.Duration
	// Reserved stops phones from sending the key of their account's state at a login:
	// the client library then reads the state, which disturbs tests of other things.
	Reserved bool
}

// Endpoint is the address of a server, with what clients must trust.
type Endpoint struct {
	URL     string   // wss://host:port/ws/chat; media is served at the same host and port
	CA      []byte   // PEM certificate that issues the TLS certificate
	RootKey [32]byte // public key that signs the Noise certificate chain
}

// Server is one running network: the WebSocket and media listener, its accounts and
// their phones. Its methods may be called from any goroutine.
type Server struct {
	log         *slog.Logger
	authority   *Authority
	reserved    bool // see Config
	latency     time.Duration
	certificate []byte // the Noise certificate chain
	persist     *persistence
	listener    *peers.Listener
	http        *http.Server
	media       *mediahost.Host
	requests    atomic.Uint64 // ids of the server's own requests
	appStates   *appstate.States
	tasks       sync.WaitGroup

	mu         sync.Mutex // guards everything below, and the accounts and devices in it
	closed     bool
	byPN       map[string]*account
	registered map[string]spelling // by the number that is asked
	byLID      map[string]*account
	groups     map[string]*group // by the user part of the address
	posts      *posts.Board      // of channels
	conns      map[*conn]struct{}
	pending    map[string]*conn      // unpaired connections by ref
	hellos     []*companionHello     // waiting link codes, oldest first
	watchers   map[*account]watchSet // subscribers of an account's presence
	refusals   map[string]Refusal    // of the next login, by number
	faults     Faults
	least      wastore.WAVersionContainer // of accepted clients; zero: all
	site       Site
	asked      map[string]int // visits of the site, by host

	mediaRefused int // downloads refused by Faults.MediaError

	// groupPictures are the media ids of groups' pictures; they do not survive
	// a restart, as media do not.
	groupPictures map[types.JID]string
	nextAuto      int64 // the next number that AutoScan tries
}

// Open starts a server. The caller closes it. Errors of the data file are the store's.
func Open(cfg Config) (*Server, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	log := cfg.Logger.With("component", "sandbox")
	persist, err := openPersistence(cfg.Path, log)
	if err != nil {
		return nil, fmt.Errorf("open sandbox: %w", err)
	}
	media, err := mediahost.New(mediaFolder(cfg.Path))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sandbox: %w", err), persist.close())
	}
	s := &Server{
		log: log, persist: persist, appStates: appstate.New(persist.appStateKeeper()), media: media, authority: cfg.Authority, reserved: cfg.Reserved, latency: cfg.Latency,
		byPN: map[string]*account{}, registered: map[string]spelling{}, byLID: map[string]*account{}, groups: map[string]*group{}, posts: posts.New(persist.post), conns: map[*conn]struct{}{},
		pending: map[string]*conn{}, watchers: map[*account]watchSet{}, refusals: map[string]Refusal{}, site: SiteCurrent, asked: map[string]int{}, groupPictures: map[types.JID]string{},
	}
	if err := s.open(cfg.Listen); err != nil {
		return nil, errors.Join(fmt.Errorf("open sandbox: %w", err), persist.close())
	}
	return s, nil
}

func (s *Server) open(listen string) (err error) {
	if s.authority == nil {
		if s.authority, err = s.persist.loadAuthority(); err != nil {
			return err
		}
	}
	if s.certificate, err = s.authority.noiseCertificate(); err != nil {
		return err
	}
	if err := s.load(); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", listen, err)
	}
	config, err := s.authority.tlsConfig(host)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", listen)
	if err != nil {
		return err
	}
	// The clients of one program share an address. A quarter of the descriptors is
	// theirs; if that program is this one, they take another.
	s.listener = peers.Listen(l, peers.Limits{Total: max(minClients, min(maxClients, peers.Descriptors()/4)), Logger: s.log})
	s.http = &http.Server{
		Handler: s.routes(), ReadHeaderTimeout: handshakeTimeout, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.tasks.Go(func() {
		if err := s.listener.ServeTLS(s.http, config); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the sandbox does not accept connections any more", "error", err)
		}
	})
	s.log.Info("sandbox open", "url", s.url(), "accounts", len(s.byPN))
	return nil
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws/chat", func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			http.Error(w, ErrClosed.Error(), http.StatusServiceUnavailable)
			return
		}
		defer s.tasks.Done()
		s.accept(w, r)
	})
	mux.HandleFunc("GET /{$}", s.serveSite)
	s.media.Refusal = s.mediaRefusal
	s.media.Handle(mux)
	return mux
}

// begin counts a connection among the tasks that Close waits for.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.tasks.Add(1)
	return true
}

// Close closes all connections, switches the phones off and saves everything. Later
// calls do nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	var phones []*phone.Phone
	for _, a := range s.byPN {
		if a.phone != nil {
			phones = append(phones, a.phone)
		}
	}
	for c := range s.conns {
		c.cancel(ErrClosed)
	}
	s.mu.Unlock()
	if already {
		return nil
	}
	err := s.http.Close()
	s.tasks.Wait()
	for _, p := range phones {
		p.Close()
	}
	s.media.Close()
	return errors.Join(err, s.persist.close())
}

// Endpoint returns the address and the trust anchors of the server.
func (s *Server) Endpoint() Endpoint {
	return Endpoint{URL: s.url(), CA: s.authority.caPEM(), RootKey: s.authority.RootPub()}
}

func (s *Server) url() string {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return fmt.Sprintf("wss://%s/ws/chat", net.JoinHostPort(host, port))
}
