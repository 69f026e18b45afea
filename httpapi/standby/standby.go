// Package standby answers requests at a node that does not own its cell: it reports what
// the node is doing, and forwards the rest to the owner. [Owner] guards what the node that
// owns the cell answers.
package standby

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"postern/cluster"
	"postern/httpapi/rest"
	"postern/internal/peers"
)

// Codes of answers that only nodes of a cell give.
const (
	CodeNoOwner        = "NO_OWNER"
	CodeLoading        = "LOADING"
	CodeStandby        = "STANDBY"
	CodeOwnerLost      = "OWNER_LOST"
	CodeUnreachable    = "ENGINE_UNREACHABLE"
	CodeRefused        = "ENGINE_REFUSED"
	CodeReadOnly       = "ENGINE_READ_ONLY"
	CodeNotSynchronous = "ENGINE_NOT_SYNCHRONOUS"
	CodeDiskFull       = "DISK_FULL"
)

// HeaderOwner names the owner in an answer that another node gave or could give.
const HeaderOwner = "Postern-Owner"

// Config is what the handler needs.
type Config struct {
	State   func() cluster.State
	Owned   func(cluster.State) bool // whether the owner's lease may be valid
	Forward bool                     // hand requests on to the owner
	// Local returns the handler of the routes that concern this process, which IsLocal
	// reports; nil as long as the key that opens them is not known.
	Local   func() http.Handler
	IsLocal func(path string) bool
	Key     func() string // with which nodes know each other; empty: not known yet
	Proxies peers.Proxies
	// Warnings returns what an operator should look at; nil: nothing.
	Warnings func() []string
	Logger   *slog.Logger
}

// health is the answer of /health and /ready.
type health struct {
	Status   string       `json:"status"`
	Role     cluster.Role `json:"role"`
	Code     string       `json:"code,omitempty"`
	Reasons  []string     `json:"reasons,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
}

// API answers requests at a node that does not own its cell.
type API struct {
	http.Handler
	Config
	forward *forwarder
}

// Forwarded returns how many requests were forwarded, by result.
func (a *API) Forwarded() map[string]uint64 {
	return map[string]uint64{"ok": a.forward.ok.Load(), "lost": a.forward.lost.Load(), "refused": a.forward.refused.Load()}
}

// New returns the handler of a node that does not own its cell.
func New(c Config) *API {
	a := &API{Config: c, forward: newForwarder(c)}
	s := rest.Bare(rest.Config{Logger: c.Logger, Proxies: c.Proxies, RetryAfter: func(string) int { return 1 }})
	s.Mount(rest.Route{Path: "/", Auth: rest.Public, Handle: a.answer})
	a.Handler = s
	return a
}

func (a *API) health(c *rest.Call) error {
	return c.Response.JSON(http.StatusOK, health{Status: "ok", Role: cluster.Standby})
}

func (a *API) ready(c *rest.Call) error {
	s := a.State()
	code, reason := a.refusal(s)
	if s.Full {
		code, reason = CodeDiskFull, "the disk of this node is full or nearly full: free some space; it follows no changes until then"
	}
	c.Response.Header().Set("Retry-After", "1")
	h := health{Status: "not ready", Role: cluster.Standby, Code: code, Reasons: []string{reason}}
	if a.Warnings != nil {
		h.Warnings = a.Warnings()
	}
	return c.Response.JSON(http.StatusServiceUnavailable, h)
}

// refusal says why the node does not answer by itself.
func (a *API) refusal(s cluster.State) (code, reason string) {
	switch {
	case s.Role == cluster.Connecting && errors.Is(s.Reason, cluster.ErrRefused):
		return CodeRefused, s.Reason.Error()
	case s.Role == cluster.Connecting && errors.Is(s.Reason, cluster.ErrReadOnly):
		return CodeReadOnly, s.Reason.Error()
	case s.Role == cluster.Connecting && s.Reason != nil:
		return CodeUnreachable, s.Reason.Error()
	case s.Role == cluster.Loading:
		return CodeLoading, "this node loads the data from the database"
	case s.Role == cluster.Connecting, !a.Owned(s):
		return CodeNoOwner, "no node owns the data now; one takes over within a lease"
	}
	return CodeStandby, "this node is a standby; the owner is " + s.Cell.Owner.String()
}

// answer answers a request. What concerns the process it answers itself.
func (a *API) answer(c *rest.Call) error {
	if get := c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead; get {
		switch c.Request.URL.Path {
		case "/health":
			return a.health(c)
		case "/ready":
			return a.ready(c)
		}
	}
	if a.IsLocal(c.Request.URL.Path) {
		return a.local(c)
	}
	return a.other(c)
}

// local answers a route that concerns this process.
func (a *API) local(c *rest.Call) error {
	if h := a.Local(); h != nil {
		h.ServeHTTP(c.Response, c.Request)
		return nil
	}
	code, reason := a.refusal(a.State())
	return rest.Refuse(http.StatusServiceUnavailable, code, reason)
}

// other answers everything else.
func (a *API) other(c *rest.Call) error {
	s := a.State()
	code, reason := a.refusal(s)
	switch {
	case code != CodeStandby:
	case !a.Forward || s.Cell.Owner.Address == "":
		c.Response.Header().Set(HeaderOwner, s.Cell.Owner.Name)
	case c.Request.Header.Get(headerForwarded) != "" && a.forward.genuine(c.Request):
		code, reason = CodeNoOwner, fmt.Sprintf("the request was forwarded to this node, which is a standby; the owner is %s", s.Cell.Owner)
	default:
		return a.forward.serve(c, s.Cell)
	}
	if code == CodeLoading {
		code = CodeNoOwner
	}
	return rest.Refuse(http.StatusServiceUnavailable, code, reason)
}

// errText is the text of an error without the address that it may have.
func errText(err error) string {
	text := err.Error()
	if at := strings.LastIndex(text, ": "); at >= 0 {
		text = text[at+2:]
	}
	return text
}
