package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"

	"postern/access"
	"postern/httpapi/idempotency"
	"postern/internal/peers"
)

// call is one request on its way, and whom its credential speaks for.
type call struct {
	server    *server
	w         *response
	r         *http.Request
	params    httprouter.Params
	requestID string
	instance  Instance             // set for instanceBearer
	user      uuid.UUID            // set for userBearer
	once      *idempotency.Request // set for a request with an Idempotency-Key
	detach    func() bool          // set by patience: after it, a disconnect of the client ends nothing

	key      *access.Key     // set when a scoped key opened the route
	session  *access.Session // set when a browser's session did
	cookie   string          // of session
	operator bool            // the session, or the credential of an instance's route, is the operator's
	entry    *access.Entry   // set for an audited route
	link     *access.Link    // set for portalLink
}

// from is the address that a request comes from.
func (c *call) from() string { return peers.Name(c.server.Proxies.Client(c.r)) }

// log is where handlers log.
func (c *call) log() *slog.Logger { return c.server.log }

// stopping is closed when the program begins to stop.
func (c *call) stopping() <-chan struct{} { return c.server.Stopping }

// operatorBinding stands for the operator's key in a session or a link.
func (c *call) operatorBinding() []byte { return c.server.operatorBinding() }

// untilStopped is the request's context, which ends when the program begins to stop, too.
func (c *call) untilStopped() (context.Context, context.CancelCauseFunc) {
	s := c.server
	ctx, cancel := context.WithCancelCause(c.r.Context())
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

// publicURL is where the program is reached: as it is configured, or as the request
// says. It ends without a slash.
func (c *call) publicURL() string {
	s, r := c.server, c.r
	if s.BaseURL != "" {
		return strings.TrimSuffix(s.BaseURL, "/")
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host + s.BasePath
}

// sessionCookie is that of a session; no script can read it, and no page of another site
// has it sent.
func (c *call) sessionCookie(value string, seconds int) *http.Cookie {
	s, r := c.server, c.r
	cookie := &http.Cookie{
		Name: s.cookieName(r), Value: value, Path: s.BasePath + "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.secure(r),
	}
	if cookie.Secure {
		cookie.Path = "/" // the prefix of the name demands it
	}
	return cookie
}
