package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"postern/access"
	"postern/backup"
	"postern/batch"
	"postern/console/samples"
	"postern/delivery"
	"postern/delivery/outbox"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/idempotency"
	"postern/httpapi/tokens"
	"postern/instance"
	"postern/internal/loglevel"
	"postern/internal/loglines"
	"postern/internal/peers"
	"postern/media"
	"postern/messages"
	"postern/store"
)

// Config is what the interface needs. All fields are required but those that
// say otherwise.
type Config struct {
	Registry   *instance.Registry
	Messages   *messages.Archive
	Supervisor *instance.Supervisor
	Engine     *batch.Engine
	Processor  *instance.Processor // carries out asynchronous sends
	Media      *media.Library
	Hub        Hub // nil: the WebSocket paths answer 404
	Store      *store.Store
	Outbox     *outbox.Outbox // of Store

	// Post sends a notice to its first address, at once, and returns the
	// status of the answer, 0 when there was none; the error says why the
	// receiver did not accept.
	Post func(context.Context, event.Notice) (status int, err error)

	// Relay delivers the outbox of Store.
	Relay *dispatch.Relay

	// Deliveries is the log of webhook deliveries in Store.
	Deliveries *delivery.Ledger

	// Access has the scoped keys, the sessions and the audit log in Store.
	Access Access

	// Alerts remembers which alerts were sent. nil: a new book, which is not
	// started.
	Alerts *alerts.Book

	// NewMessageID makes the WhatsApp id of one send.
	NewMessageID func() string

	APIKey string // the GlobalApiKey
	// KeyOpensInstances lets the GlobalApiKey open the routes of instances, too.
	KeyOpensInstances bool
	JWTSecret         []byte        // HS256, 32 bytes or more
	TokenTTL          time.Duration // life of an instance token; 0: it does not expire

	// Proxies are believed when they say whom a request comes from.
	Proxies peers.Proxies
	// Failures counts wrong credentials, and limits how many of them one address
	// can try. nil: no limit.
	Failures *peers.Failures

	// MaxRecipients of a batch; it sizes the body that batch creation takes.
	// 0 means 100 000.
	MaxRecipients int

	// MaxMedia bounds the file of a multipart body, in bytes; the library
	// bounds it too. 0 means 100 MiB.
	MaxMedia int64

	Version string // of the program, shown in the documents
	BaseURL string // public address, for the OpenAPI document; empty: where it came from
	// BasePath is the path below which a client calls, part of BaseURL where that is
	// known; empty: none. See Below.
	BasePath string

	// Ready returns why the program is not ready, nothing when it is. nil:
	// always ready.
	Ready func() []string
	// Stopping is closed when the program begins to stop, and ends long requests
	// that only their caller needs. nil: never.
	Stopping <-chan struct{}
	// Backup makes an archive of the program's data; release is to be called when it
	// was written.
	Backup func(ctx context.Context, withoutSecrets bool) (a *backup.Archive, release func() error, err error)
	// Transfers move accounts between programs.
	Transfers Transfers
	// Warnings are what an operator should look at though the program works, besides
	// those of the store. nil: none.
	Warnings func() []string

	// Settings is the configuration in force, without secrets. nil: GET /admin/config
	// answers with no setting.
	Settings func() SettingList
	// Support writes a redacted support bundle as a zip file; its error is ErrNoSupport
	// when that is not possible. nil: it is not.
	Support func(ctx context.Context, to io.Writer) error

	// Backups returns the state of the scheduled backups. nil: it
	// makes none.
	Backups func() backup.State
	// Samples are what GET /admin/samples shows. nil: there are none.
	Samples *samples.Recorder

	// LogLevel is that of Logger, or of none. nil: one that nothing goes by.
	LogLevel *loglevel.Level
	// LogLines are the last lines of the log. nil: none are kept.
	LogLines *loglines.Ring
	// Metrics answers GET /metrics: of the instances that opens reports, and nothing else;
	// with a nil opens, of the whole program. nil: that path answers 404.
	Metrics func(opens func(instance int64) bool) http.Handler
	// Pages are served with GET, each at its path and without a credential.
	Pages map[string]http.Handler
	// AgentTools are the names of what agents may call, for POST /session/calls.
	AgentTools []string
	// MCP serves POST and DELETE /mcp, and checks who calls there itself. nil: that
	// path answers 404.
	MCP http.Handler
	// Portal is the page for whom a portal link leads to.
	Portal Portal
	// Sandbox owns every path under /sandbox/, behind the GlobalApiKey. nil:
	// these paths answer 404.
	Sandbox http.Handler

	Logger *slog.Logger // nil: silent
}

// Access is who may do what, and who did. All fields are required.
type Access struct {
	Keys     *access.Keys
	Sessions *access.Sessions
	Book     *access.Book
	Links    *access.Links
}

// minSecret is the length in bytes under which an HS256 secret is too weak
// (RFC 7518, 3.2).
const minSecret = 32

const (
	defaultMaxRecipients = 100_000
	defaultMaxMedia      = 100 << 20
)

type api struct {
	Config
	router *router
	log    *slog.Logger
	keys   *idempotency.Keys
	tokens *tokens.Reader

	signIns *peers.Failures // sessions that an address begins

	profiling sync.Mutex // held while a profile is made
	gathering sync.Mutex // held while a support bundle is made
}

// New returns the handler of every path. It fails when a required field of c
// is missing or too weak.
func New(c Config) (http.Handler, error) {
	switch {
	case c.Registry == nil || c.Messages == nil || c.Supervisor == nil || c.Engine == nil || c.Store == nil || c.NewMessageID == nil || c.Post == nil || c.Media == nil || c.Processor == nil:
		return nil, errors.New("httpapi: Registry, Supervisor, Engine, Store, Media, Processor, Post and NewMessageID are required")
	case c.APIKey == "":
		return nil, errors.New("httpapi: the global API key is empty")
	case len(c.JWTSecret) < minSecret:
		return nil, errors.New("httpapi: the JWT secret is shorter than 32 bytes")
	case c.Relay == nil || c.Deliveries == nil || c.Backup == nil:
		return nil, errors.New("httpapi: Relay, Deliveries and Backup are required")
	case c.Access.Keys == nil || c.Access.Sessions == nil || c.Access.Book == nil || c.Access.Links == nil:
		return nil, errors.New("httpapi: Access is required")
	case c.Transfers.Export == nil || c.Transfers.Undo == nil || c.Transfers.Import == nil:
		return nil, errors.New("httpapi: Transfers is required")
	}
	if c.MaxRecipients == 0 {
		c.MaxRecipients = defaultMaxRecipients
	}
	if c.MaxMedia == 0 {
		c.MaxMedia = defaultMaxMedia
	}
	if c.Failures == nil {
		c.Failures = peers.NewFailures(0)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.LogLevel == nil {
		c.LogLevel = loglevel.New(slog.LevelInfo)
	}
	if c.Alerts == nil {
		c.Alerts = alerts.NewBook(c.Store, c.Logger)
	}
	if c.LogLines == nil {
		c.LogLines = loglines.New(1)
	}
	a := &api{Config: c, router: newRouter(withHEAD(slices.Concat(aliases(), notOfferedAliases()))), log: c.Logger.With("component", "httpapi"), keys: idempotency.New(c.Store), tokens: tokens.NewReader(c.JWTSecret, c.Store.Now), signIns: peers.NewFailures(signInsPerMinute)}
	for _, r := range routes() {
		if r.isSocket() && c.Hub == nil {
			continue
		}
		a.add(r)
	}
	a.addDocuments()
	a.addNotOffered()
	if c.Metrics != nil {
		r := route{method: "GET", path: pathMetrics, auth: globalKey, right: scopeMetrics, handle: (*api).showMetrics}
		a.add(r)
	}
	if c.MCP != nil {
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			r := route{method: method, path: pathMCP, auth: public, handle: serveWith(c.MCP)}
			a.add(r)
		}
	}
	for path, page := range c.Pages {
		r := route{method: "GET", path: path, auth: public, handle: serveWith(page)}
		a.add(r)
	}
	if c.Sandbox != nil {
		a.mount("/sandbox/", globalKey, c.Sandbox)
	}
	return a, nil
}

// add registers a route, for HEAD as well where that answers as GET does.
func (a *api) add(r route) {
	a.router.add(r.method, r.path, a.handler(r))
	if r.answersHEAD() {
		a.router.add(http.MethodHead, r.path, a.handler(r))
	}
}

// mount gives every path below prefix to h, behind the credential s.
func (a *api) mount(prefix string, s scheme, h http.Handler) {
	r := route{path: prefix, auth: s, handle: serveWith(h)}
	a.router.mounts = append(a.router.mounts, mount{prefix, a.handler(r)})
}

func serveWith(h http.Handler) func(*api, *call) error {
	return func(_ *api, c *call) error {
		h.ServeHTTP(c.w, c.r)
		return nil
	}
}

// Limits of the server against clients that send slowly or too much.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
)

// The same over HTTP/2, whose connections carry many requests.
const (
	maxStreams       = 100       // at once on a connection, see peers.Listener
	streamBuffer     = 256 << 10 // of a body that is not read yet
	connectionBuffer = 512 << 10 // of all bodies of a connection
)

// NewServer returns a server for h with its limits set. It has no overall read
// or write timeout, for WebSockets and long sends; bodies have their own. Where the
// listener negotiates it, it speaks HTTP/2.
func NewServer(h http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,

		DisableGeneralOptionsHandler: true, // OPTIONS * is a request like others

		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: streamBuffer, MaxReceiveBufferPerConnection: connectionBuffer,
			WriteByteTimeout: writeTimeout,
		},
		ErrorLog: slog.NewLogLogger(logger.With("component", "httpapi").Handler(), slog.LevelDebug),
	}
}
