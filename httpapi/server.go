package httpapi

import (
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

// serverConfig is what a server needs. All fields are required but those that
// say otherwise.
type serverConfig struct {
	Access    Access
	Instances Instances
	Store     *store.Store

	APIKey string // the GlobalApiKey
	// KeyOpensInstances lets the GlobalApiKey open the routes of instances, too.
	KeyOpensInstances bool
	JWTSecret         []byte // HS256, 32 bytes or more

	// Proxies are believed when they say whom a request comes from.
	Proxies peers.Proxies
	// Failures counts wrong credentials, and limits how many of them one address
	// can try. nil: no limit.
	Failures *peers.Failures

	BaseURL string // public address; empty: where a request came from
	// BasePath is the path below which a client calls, part of BaseURL where that is
	// known; empty: none.
	BasePath string

	// Stopping is closed when the program begins to stop, and ends long requests
	// that only their caller needs. nil: never.
	Stopping <-chan struct{}

	Aliases []alias // other names of paths
	// Errors maps the errors of handlers to answers, besides those of the server itself.
	Errors func(error) (refusal, bool)
	// RetryAfter is the Retry-After of a code in seconds; 0: none.
	RetryAfter func(code string) int

	Logger *slog.Logger // nil: silent
}

// Access is who may do what, and who did. All fields are required.
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

// Instances finds instances. Its error is ErrNoInstance when there is none.
type Instances interface {
	Named(name string) (Instance, error)
	Numbered(id int64) (Instance, error)
}

// ErrNoInstance is returned by Instances when there is no such instance.
var ErrNoInstance = errors.New("there is no such instance")

// ErrStopping is the cause of contexts that end because the program stops.
var ErrStopping = errors.New("the program is stopping")

// minSecret is the length in bytes under which an HS256 secret is too weak
// (RFC 7518, 3.2).
const minSecret = 32

// server processes requests: it finds their routes, checks their credentials and
// answers the errors of their handlers.
type server struct {
	serverConfig
	router *router
	log    *slog.Logger
	keys   *idempotency.Keys
	tokens *tokens.Reader
}

// newServer returns a server without routes. It fails when a required field of c is
// missing or too weak.
func newServer(c serverConfig) (*server, error) {
	switch {
	case c.Store == nil || c.Instances == nil:
		return nil, errors.New("httpapi: Store and Instances are required")
	case c.APIKey == "":
		return nil, errors.New("httpapi: the global API key is empty")
	case len(c.JWTSecret) < minSecret:
		return nil, errors.New("httpapi: the JWT secret is shorter than 32 bytes")
	case c.Access.Keys == nil || c.Access.Sessions == nil || c.Access.Book == nil || c.Access.Links == nil:
		return nil, errors.New("httpapi: Access is required")
	}
	return bareServer(c), nil
}

// bareServer is newServer for tests of what needs nothing else.
func bareServer(c serverConfig) *server {
	if c.Failures == nil {
		c.Failures = peers.NewFailures(0)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{serverConfig: c, router: newRouter(c.Aliases), log: c.Logger.With("component", "httpapi")}
	now := time.Now
	if c.Store != nil {
		now, s.keys = c.Store.Now, idempotency.New(c.Store)
	}
	s.tokens = tokens.NewReader(c.JWTSecret, now)
	return s
}

// add registers a route, for HEAD as well where that answers as GET does.
func (s *server) add(r route) {
	s.router.add(r.method, r.path, s.handler(r))
	if r.answersHEAD() {
		s.router.add(http.MethodHead, r.path, s.handler(r))
	}
}

// mount gives every path below the prefix r.path to its handler, with any method.
func (s *server) mount(r route) {
	s.router.mounts = append(s.router.mounts, mount{r.path, s.handler(r)})
}

// serveWith is a handler that leaves the answer to h.
func serveWith(h http.Handler) handler {
	return func(c *call) error {
		h.ServeHTTP(c.w, c.r)
		return nil
	}
}
