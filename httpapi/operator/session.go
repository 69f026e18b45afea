package operator

import (
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/httpapi/rest"
)

// BegunSession answers a sign-in to the console.
type BegunSession struct {
	CSRF      string     `json:"csrf"`
	ExpiresAt event.Time `json:"expiresAt" doc:"When the session expires." example:"$time"`
}

// ShownSession is what the credential of a request may do.
type ShownSession struct {
	CSRF      string      `json:"csrf,omitempty"` // of a session
	ExpiresAt *event.Time `json:"expiresAt" doc:"When the credential expires; null: never." example:"$time" rules:"null"`
	Operator  bool        `json:"operator" doc:"Whether it is the GlobalApiKey, or a session of it." example:"false"`
	Key       *KeyView    `json:"key" doc:"The scoped key; null for the operator."`
}

// signInsPerMinute is the number of sessions that one address may start in any minute.
const signInsPerMinute = 10

// fewSignIns limits how often handle is called for one address.
func (a *API) fewSignIns(handle rest.Handler) rest.Handler {
	return func(c *rest.Call) error {
		if wait, _ := a.SignIns.Count(c.Client()); wait > 0 {
			return rest.TryLater(wait, rest.CodeRateLimited, "this address has started too many sessions within a minute")
		}
		return handle(c)
	}
}

// beginSession signs a browser in: the cookie then acts for the key.
func (a *API) beginSession(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	var key uuid.UUID
	var binding []byte
	var expires time.Time
	if c.Key != nil {
		key, expires = c.Key.ID, c.Key.ExpiresAt
	} else {
		binding = c.OperatorBinding()
	}
	s, cookie, err := a.Access.Sessions.Begin(c.Request.Context(), key, binding, expires)
	if err != nil {
		return err
	}
	a.endSessionSockets(s.Displaced)
	http.SetCookie(c.Response, c.SessionCookie(cookie, int(s.ExpiresAt.Sub(a.Store.Now()).Seconds())))
	return c.Response.JSON(http.StatusCreated, BegunSession{s.CSRF, event.At(s.ExpiresAt)})
}

// showSession shows what the credential may do. csrf is present for a session only.
func (a *API) showSession(c *rest.Call) error {
	out := ShownSession{Operator: c.Key == nil}
	if c.Session != nil {
		out.CSRF = c.Session.CSRF
	}
	if at := c.Until(); !at.IsZero() {
		out.ExpiresAt = event.AtPtr(at)
	}
	if c.Key != nil {
		k, err := a.Access.Keys.Get(c.Key.ID)
		if err != nil {
			return rest.Unauthorized()
		}
		view := a.keyView(k)
		out.Key = &view
	}
	return c.Response.JSON(http.StatusOK, out)
}

// endSession signs the browser out: the cookie and all copies of it become invalid. With all=true it
// ends all sessions of the key, also for a holder without a session.
func (a *API) endSession(c *rest.Call) error {
	everywhere, err := c.Flag("all")
	if err != nil {
		return err
	}
	if err := c.NoBody(); err != nil {
		return err
	}
	var ended [][sha256.Size]byte
	switch {
	case everywhere:
		var key uuid.UUID // zero: the operator
		if c.Key != nil {
			key = c.Key.ID
		}
		ended, err = a.Access.Sessions.EndAll(c.Request.Context(), key)
	case c.Session == nil:
		return rest.Unauthorized() // a key is deleted, not signed out
	default:
		ended = append(ended, c.Session.Token)
		err = a.Access.Sessions.End(c.Request.Context(), *c.Session)
	}
	if err != nil {
		return err
	}
	a.endSessionSockets(ended)
	if c.Session != nil {
		http.SetCookie(c.Response, c.SessionCookie("", -1))
	}
	return c.NoContent()
}

// endSessionSockets ends the WebSockets of sessions.
func (a *API) endSessionSockets(tokens [][sha256.Size]byte) {
	if a.Hub == nil {
		return
	}
	for _, token := range tokens {
		a.Hub.Revoke(token)
	}
}
