package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"

	"postern/access"
	"postern/httpapi/idempotency"
	"postern/internal/peers"
)

// Call is one request, with the owner of its credential.
type Call struct {
	Server    *Server
	Response  *Response
	Request   *http.Request
	Params    httprouter.Params
	RequestID string
	Instance  Instance             // set for instanceBearer
	User      uuid.UUID            // set for userBearer
	Once      *idempotency.Request // set for a request with an Idempotency-Key
	detach    func() bool          // set by patience: after it, a disconnect of the client ends nothing

	Key      *access.Key     // set when a scoped key opened the route
	Session  *access.Session // set when a browser's session did
	Cookie   string          // of session
	Operator bool            // the session, or the credential of an instance's route, is the operator's
	Entry    *access.Entry   // set for an audited route
	Link     *access.Link    // set for portalLink
}

// Client returns the address that a request comes from, as a number.
func (c *Call) Client() netip.Addr { return c.Server.Proxies.Client(c.Request) }

// Address returns the address that a request comes from.
func (c *Call) Address() string { return peers.Name(c.Client()) }

// Log returns the logger for handlers.
func (c *Call) Log() *slog.Logger { return c.Server.Log }

// Stopping returns a channel that is closed when the program begins to stop.
func (c *Call) Stopping() <-chan struct{} { return c.Server.Stopping }

// OperatorBinding stands for the operator's key in a session or a link.
func (c *Call) OperatorBinding() []byte { return c.Server.operatorBinding() }

// UntilStopped returns the request's context, which also ends when the program begins to stop.
func (c *Call) UntilStopped() (context.Context, context.CancelCauseFunc) {
	s := c.Server
	ctx, cancel := context.WithCancelCause(c.Request.Context())
	if s.stops() {
		cancel(ErrStopping)
	} else if s.Stopping != nil {
		go func() {
			select {
			case <-s.Stopping:
				cancel(ErrStopping)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

// PublicURL returns the URL of the program: as configured, or as the request states it. It
// has no slash at the end.
func (c *Call) PublicURL() string {
	s, r := c.Server, c.Request
	if s.BaseURL != "" {
		return strings.TrimSuffix(s.BaseURL, "/")
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host + s.BasePath
}

// SessionCookie returns the cookie of a session. Scripts cannot read it, and browsers do not
// send it with requests of other sites.
func (c *Call) SessionCookie(value string, seconds int) *http.Cookie {
	s, r := c.Server, c.Request
	cookie := &http.Cookie{
		Name: s.cookieName(r), Value: value, Path: s.BasePath + "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.secure(r),
	}
	if cookie.Secure {
		cookie.Path = "/" // the prefix of the name demands it
	}
	return cookie
}

// UUID returns a path parameter that names a batch or an item. A text that is not a UUID
// names nothing.
func (c *Call) UUID(param string, missing error) (uuid.UUID, error) {
	text := c.Params.ByName(param)
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(id.String()) {
		return uuid.UUID{}, missing
	}
	return id, nil
}
