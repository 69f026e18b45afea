package httpapi

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/access"
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

// beginSession signs a browser in: from then on the cookie stands for the key.
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
		binding = a.operatorBinding()
	}
	s, cookie, err := a.Access.Sessions.Begin(c.r.Context(), key, binding, expires)
	if err != nil {
		return err
	}
	if a.Hub != nil {
		for _, token := range s.Displaced {
			a.Hub.Revoke(token)
		}
	}
	http.SetCookie(c.w, a.cookie(c.r, cookie, int(time.Until(s.ExpiresAt).Seconds())))
	return c.w.json(http.StatusCreated, begunSession{access.CSRF(cookie), event.At(s.ExpiresAt)})
}

// cookie is that of a session; no script can read it, and no page of another site
// has it sent.
func (a *api) cookie(r *http.Request, value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: sessionCookie, Value: value, Path: a.BasePath + "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.HasPrefix(a.BaseURL, "https://"),
	}
}

// showSession tells what the credential may do. csrf is there for a session only.
func (a *api) showSession(c *call) error {
	out := shownSession{Operator: c.key == nil}
	if c.session != nil {
		out.CSRF = access.CSRF(c.cookie)
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

// endSession signs the browser out: the cookie is worth nothing any more, wherever
// it was copied to.
func (a *api) endSession(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	if c.session == nil {
		return errUnauthorized() // a key is deleted, not signed out
	}
	if err := a.Access.Sessions.End(c.r.Context(), *c.session); err != nil {
		return err
	}
	if a.Hub != nil {
		a.Hub.Revoke(c.session.Token)
	}
	http.SetCookie(c.w, a.cookie(c.r, "", -1))
	return c.nothing()
}

// keyToken stands for a scoped key where WebSockets are counted and ended.
func keyToken(id uuid.UUID) [sha256.Size]byte { return sha256.Sum256(append([]byte("key "), id[:]...)) }
