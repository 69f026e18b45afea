package httpapi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"postern/batch"
	"postern/batch/optout"
	"postern/delivery/logbook"
	"postern/delivery/outbox"
	"postern/delivery/pull"
	"postern/delivery/receivers"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/batches"
	"postern/httpapi/chats"
	"postern/httpapi/deliveries"
	"postern/httpapi/files"
	"postern/httpapi/instances"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/httpapi/sends"
	"postern/httpapi/sockets"
	"postern/instance"
	"postern/instance/erasure"
	"postern/instance/later"
	"postern/internal/loglevel"
	"postern/internal/loglines"
	"postern/media"
	"postern/media/cache"
	"postern/media/kept"
	"postern/media/link"
	"postern/messages"
)

// Config configures the interface. All fields are required unless they say otherwise.
type Config struct {
	// Config is that of the server. New sets its Instances, Aliases, Errors, RetryAfter and ErrTooLarge.
	rest.Config
	// Program has defaults: without LogLevel a level without effect, without LogLines no lines.
	operator.Program

	Registry   *instance.Registry
	Messages   *messages.Archive
	Supervisor *instance.Supervisor
	Engine     *batch.Engine
	OptOuts    *optout.Book     // of Store
	Processor  *later.Processor // carries out asynchronous sends
	Scheduled  *later.Scheduler // keeps the sends of a later time
	Erasures   *erasure.Book    // removes what is stored about people
	Media      *media.Library
	Hub        sockets.Hub     // nil: the WebSocket paths answer 404
	Outbox     *outbox.Outbox  // of Store
	Relay      *dispatch.Relay // delivers the outbox of Store
	Deliveries *logbook.Log    // the log of webhook deliveries in Store
	Consumers  *pull.Consumers // of the events in Store
	Receivers  *receivers.Book // of the webhooks in Store

	// Post sends a notice to its first address, at once, and returns the status of the answer, 0 if there
	// was none; the error says why the receiver did not accept it.
	Post func(context.Context, event.Notice) (status int, err error)
	// Transfers move accounts between programs.
	Transfers instances.Transfers
	// Alerts records which alerts were sent. nil: a new book, which is not started.
	Alerts *alerts.Book
	// NewMessageID makes the WhatsApp id of one send.
	NewMessageID func() string

	// Links makes and checks media links, Fetched has the files that were fetched last.
	Links   *link.Links
	Fetched *cache.Cache
	Kept    *kept.Keeper
	LinkTTL time.Duration // of a link without expiresIn; 0 means a week
	// FileServed is called with the status of each answer of a file. It may be nil.
	FileServed func(status int)

	TokenTTL time.Duration // life of an instance token; 0: it does not expire
	// MaxRecipients of a batch; it determines the maximum body of a batch creation. 0 means 100 000.
	MaxRecipients int
	// MaxMedia bounds the file of a multipart body, in bytes; the library
	// bounds it too. 0 means 100 MiB.
	MaxMedia int64
	// MaxInline bounds a file in a JSON body, in bytes. 0 means 16 MiB.
	MaxInline int64

	Version string // of the program, shown in the documents
	// Pages are served with GET, each at its path and without a credential.
	Pages map[string]http.Handler
	// Portal is the page behind portal links.
	Portal instances.Portal
	// MCP serves POST and DELETE /mcp, and checks credentials itself. nil: that path answers 404.
	MCP http.Handler
	// Sandbox owns every path under /sandbox/, behind the GlobalApiKey. nil:
	// these paths answer 404.
	Sandbox http.Handler
}

const (
	defaultMaxRecipients = 100_000
	defaultMaxMedia      = 100 << 20
	defaultMaxInline     = 16 << 20
	defaultLinkTTL       = 7 * 24 * time.Hour
)

type api struct {
	*rest.Server

	operator   *operator.API
	sockets    *sockets.API
	batches    *batches.API
	deliveries *deliveries.API
	sends      *sends.API
	files      *files.API
	chats      *chats.API
	instances  *instances.API
}

// named finds instances for credentials.
type named struct{ *instance.Registry }

// Named implements Instances.
func (in named) Named(name string) (rest.Instance, error) { return instanceOf(in.ByName(name)) }

// Numbered implements Instances.
func (in named) Numbered(id int64) (rest.Instance, error) { return instanceOf(in.ByID(id)) }

func instanceOf(rec instance.Record, err error) (rest.Instance, error) {
	if errors.Is(err, instance.ErrNotFound) {
		return rest.Instance{}, rest.ErrNoInstance
	}
	return rest.Instance{ID: rec.ID, Name: rec.Name, Token: rec.Token.Value}, err
}

// newAPI returns the handlers of every resource, without a server.
func newAPI(c Config) *api {
	batches := batches.New(batches.Config{Engine: c.Engine, OptOuts: c.OptOuts, Store: c.Store, Relay: c.Relay, Registry: c.Registry, Supervisor: c.Supervisor, Messages: c.Messages, Media: c.Media, MaxRecipients: c.MaxRecipients})
	program := operator.New(operator.Config{Program: c.Program, Access: c.Access, JWTSecret: c.JWTSecret, Registry: c.Registry, Engine: c.Engine, Scheduled: c.Scheduled, Store: c.Store, MaySee: batches.MaySee})
	a := &api{
		batches:    batches,
		operator:   program,
		sockets:    sockets.New(sockets.Config{Hub: c.Hub, Registry: c.Registry, Access: c.Access, APIKey: c.APIKey, ConsoleMessage: rest.TypeOf[consoleMessage](), Tells: batches.Tells, MaySee: batches.MaySee, Sees: func(call *rest.Call) any { return program.Sees(call) }}),
		deliveries: deliveries.New(deliveries.Config{Consumers: c.Consumers, Receivers: c.Receivers, Example: c.Registry.ExampleFor, Post: c.Post, Durable: func(id int64) bool { durable, _ := c.Registry.Webhooks().Durable(id); return durable }, Deliveries: c.Deliveries, Relay: c.Relay, Store: c.Store, Outbox: c.Outbox, Engine: c.Engine, CheckBatch: batches.KeyBatch}),
		sends: sends.New(sends.Config{
			Store: c.Store, Messages: c.Messages, Supervisor: c.Supervisor, Processor: c.Processor, Scheduled: c.Scheduled, Media: c.Media, MaxMedia: c.MaxMedia, MaxInline: c.MaxInline, Alerts: c.Alerts, NewMessageID: c.NewMessageID,
			OpenKept: func(ctx context.Context, instance, message int64) (io.ReadCloser, bool) {
				return c.Kept.Open(ctx, cache.Key{Instance: instance, Message: message})
			},
		}),
		files: files.New(files.Config{Store: c.Store, Messages: c.Messages, Supervisor: c.Supervisor, Links: c.Links, Cache: c.Fetched, Kept: c.Kept, MaxMedia: c.MaxMedia, LinkTTL: c.LinkTTL, Served: c.FileServed}),
		chats: chats.New(chats.Config{Registry: c.Registry, Messages: c.Messages, Supervisor: c.Supervisor, Media: c.Media, MaxMedia: c.MaxMedia, Erasures: c.Erasures}),
		instances: instances.New(instances.Config{
			Store: c.Store, Registry: c.Registry, Supervisor: c.Supervisor, Engine: c.Engine, Media: c.Media, MaxMedia: c.MaxMedia, Access: c.Access,
			JWTSecret: c.JWTSecret, TokenTTL: c.TokenTTL, Transfers: c.Transfers, Portal: c.Portal, Post: c.Post, Waiting: c.Receivers.Waiting, Troubles: c.Troubles.Of, MaySeeTrouble: program.SeesKind,
		}),
	}
	if c.Hub != nil {
		a.operator.Hub, a.instances.Hub = c.Hub, c.Hub
	}
	return a
}

// New returns the handler of every path. It fails if a required field of c is missing or too weak.
func New(c Config) (http.Handler, error) {
	switch {
	case c.Registry == nil || c.Messages == nil || c.Supervisor == nil || c.Engine == nil || c.Store == nil || c.NewMessageID == nil || c.Post == nil || c.Media == nil || c.Processor == nil || c.Scheduled == nil || c.Erasures == nil:
		return nil, errors.New("httpapi: Registry, Supervisor, Engine, Store, Media, Processor, Scheduled, Erasures, Post and NewMessageID are required")
	case c.Relay == nil || c.Deliveries == nil || c.Backup == nil:
		return nil, errors.New("httpapi: Relay, Deliveries and Backup are required")
	case c.Links == nil || c.Fetched == nil || c.Kept == nil:
		return nil, errors.New("httpapi: Links, Fetched and Kept are required")
	case c.Transfers.Export == nil || c.Transfers.Undo == nil || c.Transfers.Import == nil:
		return nil, errors.New("httpapi: Transfers is required")
	}
	if c.MaxRecipients == 0 {
		c.MaxRecipients = defaultMaxRecipients
	}
	if c.MaxMedia == 0 {
		c.MaxMedia = defaultMaxMedia
	}
	if c.MaxInline == 0 {
		c.MaxInline = defaultMaxInline
	}
	if c.LinkTTL == 0 {
		c.LinkTTL = defaultLinkTTL
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.LogLevel == nil {
		c.LogLevel = loglevel.New(slog.LevelInfo)
	}
	if c.Alerts == nil {
		c.Alerts = alerts.NewBook(c.Store, c.Logger)
	}
	if c.LogLines == nil {
		c.LogLines = loglines.New(1)
	}
	c.Instances, c.Aliases = named{c.Registry}, withHEAD(slices.Concat(aliases(), notOfferedAliases()))
	c.Errors, c.RetryAfter, c.ErrTooLarge = answerTo, retryAfter, media.ErrTooLarge
	srv, err := rest.New(c.Config)
	if err != nil {
		return nil, err
	}
	a := newAPI(c)
	a.Server = srv
	for _, r := range a.routes() {
		if r.IsSocket() && c.Hub == nil {
			continue
		}
		a.Add(r)
	}
	a.addDocuments(c.Version)
	a.addNotOffered()
	if c.Metrics != nil {
		r := rest.Route{Method: "GET", Path: rest.PathMetrics, Auth: rest.GlobalKey, Right: rest.ScopeMetrics, Handle: a.operator.ShowMetrics}
		a.Add(r)
	}
	if c.MCP != nil {
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			r := rest.Route{Method: method, Path: pathMCP, Auth: rest.Public, Handle: rest.ServeWith(c.MCP)}
			a.Add(r)
		}
	}
	for path, page := range c.Pages {
		r := rest.Route{Method: "GET", Path: path, Auth: rest.Public, Handle: rest.ServeWith(page)}
		a.Add(r)
	}
	if c.Sandbox != nil {
		a.Mount(rest.Route{Path: "/sandbox/", Auth: rest.GlobalKey, Handle: rest.ServeWith(c.Sandbox)})
	}
	return a, nil
}

// Limits of the server against clients that send slowly or too much.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
)

// The same limits over HTTP/2, whose connections carry many requests.
const (
	maxStreams       = 100       // at once on a connection, see peers.Listener
	streamBuffer     = 256 << 10 // of a body that is not read yet
	connectionBuffer = 512 << 10 // of all bodies of a connection
)

// NewServer returns a server for h with its limits set. It has no overall read or write timeout, because of
// WebSockets and long sends; bodies have their own. It speaks HTTP/2 if the listener negotiates it.
func NewServer(h http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,

		DisableGeneralOptionsHandler: true, // OPTIONS * is a request like others

		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: streamBuffer, MaxReceiveBufferPerConnection: connectionBuffer,
			WriteByteTimeout: rest.WriteTimeout,
		},
		ErrorLog: slog.NewLogLogger(logger.With("component", "httpapi").Handler(), slog.LevelDebug),
	}
}

// NewMetrics returns the handler of a listener that serves only GET /metrics, answered by h without a
// credential.
func NewMetrics(h http.Handler, log *slog.Logger) http.Handler {
	a := rest.Bare(rest.Config{Logger: log})
	r := rest.Route{Method: http.MethodGet, Path: rest.PathMetrics, Auth: rest.Public, Handle: rest.ServeWith(h)}
	a.Add(r)
	return a
}
