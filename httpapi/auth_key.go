package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/access"
)

const (
	sessionCookie = "postern_session"
	csrfHeader    = "X-Postern-Csrf"
	userHeader    = "X-Postern-User"
)

// Words of the audit log that are used in more than one place.
const (
	actorGlobal   = "global"
	actionWebhook = "webhook.change"
	actionOptions = "webhook.options.change"
)

// keyText is the text of a scoped key in a request: that of the Authorization header
// or, where there is none, of apikey or x-api-key.
func keyText(h http.Header) (text string, given bool, err error) {
	if len(h["Authorization"]) > 0 {
		text = bearer(h)
		return text, strings.HasPrefix(text, access.Prefix), nil
	}
	values := slices.Concat(h["Apikey"], h["X-Api-Key"])
	if len(values) == 0 || !strings.HasPrefix(values[0], access.Prefix) {
		return "", false, nil
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return "", false, errKeyMismatch()
		}
	}
	return values[0], true, nil
}

// isOperator reports whether a request has the GlobalApiKey, and no other value in
// its headers.
func (s *server) isOperator(h http.Header) bool {
	return (len(h["Apikey"]) > 0 || len(h["X-Api-Key"]) > 0) && s.checkKey(h) == nil
}

// findKey returns the key with a text, and counts the request against its rate.
// Only the log has the reason why a text is rejected.
func (c *call) findKey(text string) (*access.Key, error) {
	c.w.guess = true
	k, err := c.server.Access.Keys.ByText(text, c.from())
	if err != nil {
		why := "there is no such key, or it expired"
		if !access.WellFormed(text) {
			why = "its checksum is wrong: it was mistyped, or a part of it is missing"
		}
		c.server.log.Info("a scoped key was rejected", "reason", why, "route", c.w.pattern, "request_id", c.requestID, "address", c.from())
		return nil, errUnauthorized()
	}
	return k, c.spend(k)
}

// spend counts the request against the key's rate limit, or refuses it.
func (c *call) spend(k *access.Key) error {
	c.key, c.w.key = k, k.ID.String()
	if wait := c.server.Access.Keys.Take(k); wait > 0 {
		return tryLater(wait, codeRateLimited, "the key has reached its limit of requests per minute (rateLimit.perMinute)")
	}
	return nil
}

// openWithKey authorizes c for a route by its key.
func (c *call) openWithKey(r route) error {
	if r.right == never {
		return errScope("this route accepts no scoped key; " + r.takes())
	}
	if err := r.right.mayOpen(c.key); err != nil {
		return err
	}
	switch r.auth {
	case instanceBearer:
		rec, err := c.keyInstance(c.params.ByName("i"), r.right)
		if err != nil {
			return err
		}
		c.instance = rec
	case userBearer:
		c.user = c.key.User
		if r.check != nil {
			return r.check(c)
		}
	case public, globalKey, pathBearer, signIn, anyKey, handshake, portalLink:
	}
	return nil
}

// keyInstance returns the instance with a name, if the key opens it with the right need.
// A key learns nothing about other instances, not even whether they exist.
func (c *call) keyInstance(name string, need right) (Instance, error) {
	rec, err := c.server.Instances.Named(name)
	switch {
	case err == nil && c.key.Opens(rec.ID), err != nil && c.key.Everywhere():
		return rec, err
	case err != nil && !errors.Is(err, ErrNoInstance):
		return rec, err
	}
	return Instance{}, errScope("the key does not have the scope " + listed(need.needs()) + " for an instance of this name, or there is no such instance; GET /instance lists those of the key")
}

// operatorBinding stands for the operator's key in a session.
func (s *server) operatorBinding() []byte {
	m := hmac.New(sha256.New, s.JWTSecret)
	m.Write([]byte("session of the operator's key\x00" + s.APIKey))
	return m.Sum(nil)
}

// hostPrefix makes browsers accept a cookie only over https, for this host only and for
// all its paths.
const hostPrefix = "__Host-"

// cookieName is the name of the session cookie of a request. Over https, programs below
// different base paths of one host share its paths, so each has a name of its own.
func (s *server) cookieName(r *http.Request) string {
	if !s.secure(r) {
		return sessionCookie
	}
	if s.BasePath == "" {
		return hostPrefix + sessionCookie
	}
	sum := sha256.Sum256([]byte(s.BasePath))
	return hostPrefix + sessionCookie + "_" + hex.EncodeToString(sum[:4])
}

// secure reports whether a client uses https: here, at a trusted proxy that says so, or
// at the public address.
func (s *server) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(s.BaseURL, "https://") || s.Proxies.Secure(r)
}

// cookieOf is the session cookie of a request that has no other credential.
func (c *call) cookieOf() (cookie string, given bool) {
	r := c.r
	for _, name := range []string{"Authorization", "Apikey", "X-Api-Key"} {
		if len(r.Header[name]) > 0 {
			return "", false
		}
	}
	all := r.CookiesNamed(c.server.cookieName(r))
	if len(all) != 1 {
		return "", false // two come from two paths, and one may be another program's
	}
	return all[0].Value, true
}

// openSession sets the owner of a cookie in c: a key or the operator.
func (c *call) openSession(cookie string) error {
	session, found := c.server.Access.Sessions.Find(cookie, c.server.operatorBinding())
	if !found {
		return errUnauthorized()
	}
	c.session, c.cookie = &session, cookie
	if session.Key == (uuid.UUID{}) {
		c.operator = true
		return nil
	}
	k, err := c.server.Access.Keys.ByID(session.Key, c.from())
	if err != nil {
		return errUnauthorized()
	}
	return c.spend(k)
}

// checkCSRF refuses changes from a page that has the browser's cookie but not the
// session's CSRF token. Routes with the scope pair start or continue a pairing, also
// by GET.
func (c *call) checkCSRF(r route) error {
	if (c.r.Method == http.MethodGet || c.r.Method == http.MethodHead) && r.right != scopePair {
		return nil
	}
	if given := c.r.Header.Values(csrfHeader); len(given) != 1 || !sameSecret(given[0], c.session.CSRF) {
		return refuse(http.StatusForbidden, codeCSRF, "a request with the cookie of a session needs the header x-postern-csrf, which POST /session and GET /session return")
	}
	return nil
}

// openWithSession authorizes c for a route by a session cookie.
func (c *call) openWithSession(r route, cookie string) error {
	if err := c.openSession(cookie); err != nil {
		return err
	}
	if err := c.checkCSRF(r); err != nil {
		return err
	}
	if c.key != nil {
		return c.openWithKey(r)
	}
	return c.openAsOperator(r)
}

// openAsOperator authorizes the operator: for the routes of the GlobalApiKey, to
// any instance, and the batches of the user in a header.
func (c *call) openAsOperator(r route) (err error) {
	switch r.auth {
	case instanceBearer:
		c.instance, err = c.server.Instances.Named(c.params.ByName("i"))
	case userBearer:
		c.user, err = uuid.Parse(c.r.Header.Get(userHeader))
		if err != nil {
			return refuse(http.StatusBadRequest, codeMissingField, "the header x-postern-user must have the UUID of the user whose batches to use")
		}
	case public, globalKey, pathBearer, signIn, anyKey, handshake, portalLink:
	}
	return err
}

// scopedKey is the scoped key of a request, or of its session; zero: it has another
// credential.
func (c *call) scopedKey() uuid.UUID {
	if c.key == nil {
		return uuid.Nil
	}
	return c.key.ID
}

// whileKey is the context for work that a request starts: with a scoped key, its commits
// fail once the key is deleted, so that no deletion misses it.
func (c *call) whileKey() context.Context {
	if c.key == nil {
		return c.r.Context()
	}
	return access.While(c.r.Context(), c.key.ID)
}

// actor is who makes a request, for the audit log.
func (c *call) actor() string {
	switch {
	case c.key != nil:
		return c.key.ID.String()
	case c.operator || c.w.auth == globalKey || c.w.auth == signIn:
		return actorGlobal
	case c.instance.ID != 0:
		return "instance:" + c.instance.Name
	default:
		return "user:" + c.user.String()
	}
}

// audited records a route's success in the audit log: the record commits with the
// handler's change or, without a change of the file, before the answer.
func audited(action string, handle handler) handler {
	return func(c *call) error {
		s := c.server
		subject := c.params.ByName("i")
		if subject == "" {
			subject = c.params.ByName("id")
		}
		c.entry = s.Access.Book.Note(c.actor(), action, subject, c.from())
		ctx := c.r.Context()
		c.r = c.r.WithContext(c.entry.Along(ctx))
		c.w.before = func(status int) error {
			switch {
			case status < 300:
				return c.entry.Keep(ctx)
			case status < 500:
				return c.entry.Withdraw(ctx)
			}
			c.entry.Leave() // changes committed before the fault keep their records
			return nil
		}
		c.w.late = func(err error) { s.logLate(c.w, err) }
		return handle(c)
	}
}

// logLate logs that something was done, or not, while its record says otherwise.
func (s *server) logLate(w *response, err error) {
	s.log.Error("the audit record of a request is missing or wrong", slog.String("route", w.pattern), slog.String("request_id", w.requestID), slog.Any("error", err))
}

// until is when a credential of c ends, zero for never.
func (c *call) until() time.Time {
	var ends time.Time
	if c.session != nil {
		ends = c.session.ExpiresAt
	}
	if c.key != nil && !c.key.ExpiresAt.IsZero() && (ends.IsZero() || c.key.ExpiresAt.Before(ends)) {
		ends = c.key.ExpiresAt
	}
	return ends
}
