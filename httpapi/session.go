package httpapi

import (
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

type begunSession struct {
	CSRF      string     `json:"csrf"`
	ExpiresAt event.Time `json:"expiresAt"`
}

// shownSession is what the credential of a request may do.
type shownSession struct {
	CSRF      string      `json:"csrf,omitempty"` // of a session
	ExpiresAt *event.Time `json:"expiresAt"`      // null: never
	Operator  bool        `json:"operator"`       // whether it is the GlobalApiKey, or stands for it
	Key       *keyView    `json:"key"`            // null for the operator
}

// signInsPerMinute is how many sessions one address may start in any minute.
const signInsPerMinute = 10

// fewSignIns limits how often handle is called for one address.
func (a *api) fewSignIns(handle handler) handler {
	return func(c *call) error {
		if wait, _ := a.signIns.Count(a.Proxies.Client(c.r)); wait > 0 {
			return tryLater(wait, codeRateLimited, "this address has started too many sessions within a minute")
		}
		return handle(c)
	}
}

// beginSession signs a browser in: the cookie then acts for the key.
func (a *api) beginSession(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	var key uuid.UUID
	var binding []byte
	var expires time.Time
	if c.key != nil {
		key, expires = c.key.ID, c.key.ExpiresAt
	} else {
		binding = c.operatorBinding()
	}
	s, cookie, err := a.Access.Sessions.Begin(c.r.Context(), key, binding, expires)
	if err != nil {
		return err
	}
	a.endSessionSockets(s.Displaced)
	http.SetCookie(c.w, c.sessionCookie(cookie, int(s.ExpiresAt.Sub(a.Store.Now()).Seconds())))
	return c.w.json(http.StatusCreated, begunSession{s.CSRF, event.At(s.ExpiresAt)})
}

// showSession shows what the credential may do. csrf is present for a session only.
func (a *api) showSession(c *call) error {
	out := shownSession{Operator: c.key == nil}
	if c.session != nil {
		out.CSRF = c.session.CSRF
	}
	if at := c.until(); !at.IsZero() {
		out.ExpiresAt = event.AtPtr(at)
	}
	if c.key != nil {
		k, err := a.Access.Keys.Get(c.key.ID)
		if err != nil {
			return errUnauthorized()
		}
		view := a.keyView(k)
		out.Key = &view
	}
	return c.w.json(http.StatusOK, out)
}

// endSession signs the browser out: the cookie and all copies of it become invalid. With all=true it ends all sessions of the key, for its holder without
// a session too.
func (a *api) endSession(c *call) error {
	everywhere, err := c.flag("all")
	if err != nil {
		return err
	}
	if err := c.noBody(); err != nil {
		return err
	}
	var ended [][sha256.Size]byte
	switch {
	case everywhere:
		var key uuid.UUID // zero: the operator
		if c.key != nil {
			key = c.key.ID
		}
		ended, err = a.Access.Sessions.EndAll(c.r.Context(), key)
	case c.session == nil:
		return errUnauthorized() // a key is deleted, not signed out
	default:
		ended = append(ended, c.session.Token)
		err = a.Access.Sessions.End(c.r.Context(), *c.session)
	}
	if err != nil {
		return err
	}
	a.endSessionSockets(ended)
	if c.session != nil {
		http.SetCookie(c.w, c.sessionCookie("", -1))
	}
	return c.nothing()
}

// endSessionSockets ends the WebSockets of sessions.
func (a *api) endSessionSockets(tokens [][sha256.Size]byte) {
	if a.Hub == nil {
		return
	}
	for _, token := range tokens {
		a.Hub.Revoke(token)
	}
}

// keyToken stands for a scoped key where WebSockets are counted and ended.
func keyToken(id uuid.UUID) [sha256.Size]byte { return sha256.Sum256(append([]byte("key "), id[:]...)) }
