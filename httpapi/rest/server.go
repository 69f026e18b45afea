package rest

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"postern/access"
	"postern/httpapi/idempotency"
	"postern/httpapi/tokens"
	"postern/internal/peers"
	"postern/store"
)

// Config configures a server. All fields are required unless they say otherwise.
type Config struct {
	Access    Access
	Instances Instances
	Store     *store.Store

	APIKey string // the GlobalApiKey
	// KeyOpensInstances lets the GlobalApiKey also open the routes of instances.
	KeyOpensInstances bool
	JWTSecret         []byte // HS256, 32 bytes or more

	// Proxies are trusted to state where a request comes from.
	Proxies peers.Proxies
	// Failures counts wrong credentials and limits their number for each address. nil: no limit.
	Failures *peers.Failures

	BaseURL string // public address; empty: where a request came from
	// BasePath is the path below which clients call. It is part of BaseURL, if that is set; empty: none.
	BasePath string

	// Stopping is closed when the program begins to stop. It ends long requests that only their caller
	// needs. nil: never.
	Stopping <-chan struct{}

	// Answered returns the addresses of the account that a phone's JID reaches, if its look-up was answered
	// with one; it asks no network. nil: none is known.
	Answered func(jid string) []string

	Aliases []Alias // other names of paths
	// Errors maps the errors of handlers to answers, besides those of the server itself.
	Errors func(error) (Error, bool)
	// ErrTooLarge is the error of spools for a file above their limit.
	ErrTooLarge error
	// RetryAfter is the Retry-After of a code in seconds; 0: none.
	RetryAfter func(code string) int

	Logger *slog.Logger // nil: silent
}

// Access holds permissions and the audit log. All fields are required.
type Access struct {
	Keys     *access.Keys
	Sessions *access.Sessions
	Book     *access.Book
	Links    *access.Links
}

// Instance is an instance as credentials name it.
type Instance struct {
	ID    int64
	Name  string
	Token string // the one that was issued last
}

// Instances finds instances. Its error is ErrNoInstance if there is none.
type Instances interface {
	Named(name string) (Instance, error)
	Numbered(id int64) (Instance, error)
}

// ErrNoInstance is returned by Instances if there is no such instance.
var ErrNoInstance = errors.New("there is no such instance")

// ErrStopping is the cause of contexts that end because the program stops.
var ErrStopping = errors.New("the program is stopping")

// minSecret is the length in bytes under which an HS256 secret is too weak
// (RFC 7518, 3.2).
const minSecret = 32

// Server processes requests: it finds their routes, checks their credentials and answers the errors
// of their handlers.
type Server struct {
	Config
	Router *Router
	Log    *slog.Logger
	keys   *idempotency.Keys
	tokens *tokens.Reader
}

// New returns a server without routes. It fails if a required field of c is missing or too weak.
func New(c Config) (*Server, error) {
	switch {
	case c.Store == nil || c.Instances == nil:
		return nil, errors.New("rest: Store and Instances are required")
	case c.APIKey == "":
		return nil, errors.New("rest: the global API key is empty")
	case len(c.JWTSecret) < minSecret:
		return nil, errors.New("rest: the JWT secret is shorter than 32 bytes")
	case c.Access.Keys == nil || c.Access.Sessions == nil || c.Access.Book == nil || c.Access.Links == nil:
		return nil, errors.New("rest: Access is required")
	}
	return Bare(c), nil
}

// Bare returns a server without routes and does not check c: for tests and for paths
// that need no credential.
func Bare(c Config) *Server {
	if c.Failures == nil {
		c.Failures = peers.NewFailures(0)
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	s := &Server{Config: c, Router: NewRouter(c.Aliases), Log: c.Logger.With("component", "httpapi")}
	now := time.Now
	if c.Store != nil {
		now, s.keys = c.Store.Now, idempotency.New(c.Store)
	}
	s.tokens = tokens.NewReader(c.JWTSecret, now)
	return s
}

// Add registers a route, also for HEAD if HEAD is answered as GET is.
func (s *Server) Add(r Route) {
	s.Router.Add(r.Method, r.Path, s.Handler(r))
	if r.AnswersHEAD() {
		s.Router.Add(http.MethodHead, r.Path, s.Handler(r))
	}
}

// Mount passes every path below the prefix r.path, with any method, to its handler.
func (s *Server) Mount(r Route) {
	s.Router.mounts = append(s.Router.mounts, mount{r.Path, s.Handler(r)})
}

// ServeWith returns a handler that lets h answer.
func ServeWith(h http.Handler) Handler {
	return func(c *Call) error {
		h.ServeHTTP(c.Response, c.Request)
		return nil
	}
}
