package rest

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

// SessionCookie is the cookie of the console. The headers go with it.
const (
	SessionCookie = "postern_session"
	csrfHeader    = "X-Postern-Csrf"
	userHeader    = "X-Postern-User"
)

// Terms of the audit log that are used in several places.
const (
	ActorGlobal   = "global"
	ActionWebhook = "webhook.change"
	ActionOptions = "webhook.options.change"
)

// KeyText returns the text of a scoped key in a request: that of the Authorization header or,
// without it, of apikey or x-api-key.
func KeyText(h http.Header) (text string, given bool, err error) {
	if len(h["Authorization"]) > 0 {
		text = Bearer(h)
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
func (s *Server) isOperator(h http.Header) bool {
	return (len(h["Apikey"]) > 0 || len(h["X-Api-Key"]) > 0) && s.checkKey(h) == nil
}

// FindKey returns the key with a text, and counts the request against its rate.
// Only the log has the reason why a text is rejected.
func (c *Call) FindKey(text string) (*access.Key, error) {
	c.Response.guess = true
	k, err := c.Server.Access.Keys.ByText(text, c.Address())
	if err != nil {
		why := "there is no such key, or it expired"
		if !access.WellFormed(text) {
			why = "its checksum is wrong: it was mistyped, or a part of it is missing"
		}
		c.Server.Log.Info("a scoped key was rejected", "reason", why, "route", c.Response.Pattern, "request_id", c.RequestID, "address", c.Address())
		return nil, Unauthorized()
	}
	return k, c.spend(k)
}

// spend counts the request against the key's rate limit, or refuses it.
func (c *Call) spend(k *access.Key) error {
	c.Key, c.Response.key = k, k.ID.String()
	if wait := c.Server.Access.Keys.Take(k); wait > 0 {
		return TryLater(wait, CodeRateLimited, "the key has reached its limit of requests per minute (rateLimit.perMinute)")
	}
	return nil
}

// openWithKey authorizes c for a route by its key.
func (c *Call) openWithKey(r Route) error {
	if r.Right == Never {
		return MissingScope("this route accepts no scoped key; " + r.takes())
	}
	if err := r.Right.MayOpen(c.Key); err != nil {
		return err
	}
	switch r.Auth {
	case InstanceBearer:
		rec, err := c.KeyInstance(c.Params.ByName("i"), r.Right)
		if err != nil {
			return err
		}
		c.Instance = rec
	case UserBearer:
		c.User = c.Key.User
		if r.Check != nil {
			return r.Check(c)
		}
	case Public, GlobalKey, PathBearer, SignIn, AnyKey, Handshake, PortalLink:
	}
	return nil
}

// KeyInstance returns the instance with a name, if the key opens it with the right need.
// A key learns nothing about other instances, not even whether they exist.
func (c *Call) KeyInstance(name string, need Right) (Instance, error) {
	rec, err := c.Server.Instances.Named(name)
	switch {
	case err == nil && c.Key.Opens(rec.ID), err != nil && c.Key.Everywhere():
		return rec, err
	case err != nil && !errors.Is(err, ErrNoInstance):
		return rec, err
	}
	return Instance{}, NoKeyInstance(need)
}

// NoKeyInstance is the answer to a key for an instance that it does not open, or that does
// not exist.
func NoKeyInstance(need Right) error {
	lacks := "is not"
	if scopes := need.Needs(); len(scopes) > 0 {
		lacks = "does not have the scope " + listed(scopes)
	}
	return MissingScope("the key " + lacks + " for an instance of this name, or there is no such instance; GET /instance lists those of the key")
}

// operatorBinding stands for the operator's key in a session.
func (s *Server) operatorBinding() []byte {
	m := hmac.New(sha256.New, s.JWTSecret)
	m.Write([]byte("session of the operator's key\x00" + s.APIKey))
	return m.Sum(nil)
}

// hostPrefix makes browsers accept a cookie only over https, for this host only and for
// all its paths.
const hostPrefix = "__Host-"

// cookieName returns the name of the session cookie of a request. Over https, programs below
// different base paths of one host share its paths, so each uses its own name.
func (s *Server) cookieName(r *http.Request) string {
	if !s.secure(r) {
		return SessionCookie
	}
	if s.BasePath == "" {
		return hostPrefix + SessionCookie
	}
	sum := sha256.Sum256([]byte(s.BasePath))
	return hostPrefix + SessionCookie + "_" + hex.EncodeToString(sum[:4])
}

// secure reports whether a client uses https: here, at a trusted proxy that states it, or at
// the public address.
func (s *Server) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(s.BaseURL, "https://") || s.Proxies.Secure(r)
}

// CookieOf returns the session cookie of a request that has no other credential.
func (c *Call) CookieOf() (cookie string, given bool) {
	r := c.Request
	for _, name := range []string{"Authorization", "Apikey", "X-Api-Key"} {
		if len(r.Header[name]) > 0 {
			return "", false
		}
	}
	all := r.CookiesNamed(c.Server.cookieName(r))
	if len(all) != 1 {
		return "", false // two come from two paths, and one may be another program's
	}
	return all[0].Value, true
}

// OpenSession sets the owner of a cookie in c: a key or the operator.
func (c *Call) OpenSession(cookie string) error {
	session, found := c.Server.Access.Sessions.Find(cookie, c.Server.operatorBinding())
	if !found {
		return Unauthorized()
	}
	c.Session, c.Cookie = &session, cookie
	if session.Key == (uuid.UUID{}) {
		c.Operator = true
		return nil
	}
	k, err := c.Server.Access.Keys.ByID(session.Key, c.Address())
	if err != nil {
		return Unauthorized()
	}
	return c.spend(k)
}

// checkCSRF refuses changes from a page that has the browser's cookie but not the
// session's CSRF token. Routes with the scope pair start or continue a pairing, also
// by GET.
func (c *Call) checkCSRF(r Route) error {
	if (c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead) && r.Right != ScopePair {
		return nil
	}
	if given := c.Request.Header.Values(csrfHeader); len(given) != 1 || !sameSecret(given[0], c.Session.CSRF) {
		return Refuse(http.StatusForbidden, CodeCSRF, "a request with the cookie of a session needs the header x-postern-csrf, which POST /session and GET /session return")
	}
	return nil
}

// openWithSession authorizes c for a route by a session cookie.
func (c *Call) openWithSession(r Route, cookie string) error {
	if err := c.OpenSession(cookie); err != nil {
		return err
	}
	if err := c.checkCSRF(r); err != nil {
		return err
	}
	if c.Key != nil {
		return c.openWithKey(r)
	}
	return c.openAsOperator(r)
}

// openAsOperator authorizes the operator: for the routes of the GlobalApiKey, to
// any instance, and the batches of the user in a header.
func (c *Call) openAsOperator(r Route) (err error) {
	switch r.Auth {
	case InstanceBearer:
		c.Instance, err = c.Server.Instances.Named(c.Params.ByName("i"))
	case UserBearer:
		c.User, err = uuid.Parse(c.Request.Header.Get(userHeader))
		if err != nil {
			return Refuse(http.StatusBadRequest, CodeMissingField, "the header x-postern-user must have the UUID of the user whose batches to use")
		}
	case Public, GlobalKey, PathBearer, SignIn, AnyKey, Handshake, PortalLink:
	}
	return err
}

// ScopedKey returns the scoped key of a request, or of its session; zero if it has another
// credential.
func (c *Call) ScopedKey() uuid.UUID {
	if c.Key == nil {
		return uuid.Nil
	}
	return c.Key.ID
}

// KeyContext returns the context for work that a request starts. With a scoped key, its commits
// fail once the key is deleted, so that no deletion misses it.
func (c *Call) KeyContext() context.Context {
	if c.Key == nil {
		return c.Request.Context()
	}
	return access.While(c.Request.Context(), c.Key.ID)
}

// Actor returns the maker of a request, for the audit log.
func (c *Call) Actor() string {
	switch {
	case c.Key != nil:
		return c.Key.ID.String()
	case c.Operator || c.Response.auth == GlobalKey || c.Response.auth == SignIn:
		return ActorGlobal
	case c.Instance.ID != 0:
		return "instance:" + c.Instance.Name
	default:
		return "user:" + c.User.String()
	}
}

// Audited records a route's success in the audit log: the record commits with the
// handler's change or, without a change of the file, before the answer.
func Audited(action string, handle Handler) Handler {
	return AuditedAs(action, func(c *Call) string {
		if name := c.Params.ByName("i"); name != "" {
			return name
		}
		return c.Params.ByName("id")
	}, handle)
}

// AuditedAs is Audited with another subject.
func AuditedAs(action string, subjectOf func(*Call) string, handle Handler) Handler {
	return func(c *Call) error {
		s := c.Server
		if s.Access.Book == nil { // a node without the audit log, which is elsewhere
			s.Log.Info("audit", "action", action, "address", c.Address())
			return handle(c)
		}
		c.Entry = s.Access.Book.Note(c.Actor(), action, subjectOf(c), c.Address())
		ctx := c.Request.Context()
		c.Request = c.Request.WithContext(c.Entry.Along(ctx))
		c.Response.before = func(status int) error {
			switch {
			case status < 300:
				return c.Entry.Keep(ctx)
			case status < 500:
				return c.Entry.Withdraw(ctx)
			}
			c.Entry.Leave() // changes committed before the fault keep their records
			return nil
		}
		c.Response.late = func(err error) { s.logLate(c.Response, err) }
		return handle(c)
	}
}

// logLate logs an error that leaves the audit record of a request missing or wrong.
func (s *Server) logLate(w *Response, err error) {
	s.Log.Error("the audit record of a request is missing or wrong", slog.String("route", w.Pattern), slog.String("request_id", w.requestID), slog.Any("error", err))
}

// Until returns when a credential of c ends, zero for never.
func (c *Call) Until() time.Time {
	var ends time.Time
	if c.Session != nil {
		ends = c.Session.ExpiresAt
	}
	if c.Key != nil && !c.Key.ExpiresAt.IsZero() && (ends.IsZero() || c.Key.ExpiresAt.Before(ends)) {
		ends = c.Key.ExpiresAt
	}
	return ends
}

// KeyToken identifies a scoped key where WebSockets are counted and closed.
func KeyToken(id uuid.UUID) [sha256.Size]byte { return sha256.Sum256(append([]byte("key "), id[:]...)) }

// StillOpens looks at the credential of a long call again: nil while the key and the session have kept their rights,
// and the token of an instance is the one that was issued last.
func (c *Call) StillOpens() error {
	if c.Session != nil {
		if _, found := c.Server.Access.Sessions.Find(c.Cookie, c.OperatorBinding()); !found {
			return Unauthorized()
		}
	}
	if c.Key != nil {
		now, err := c.Server.Access.Keys.ByID(c.Key.ID, c.Address())
		if err != nil {
			return Unauthorized()
		}
		if c.Key.Narrower(now) {
			return MissingScope("the key was narrowed meanwhile; ask again")
		}
	}
	if c.Instance.ID == 0 {
		return nil
	}
	if c.Session == nil && c.Key == nil && !c.Operator {
		token, err := instanceToken(c.Request.Header)
		if err != nil {
			return err
		}
		_, err = c.TokenHolder(token, c.Instance.Name)
		return err
	}
	_, err := c.Server.Instances.Named(c.Instance.Name)
	return err
}
