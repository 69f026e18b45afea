package sockets

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"postern/access"
	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/tokens"
	"postern/instance"
	"postern/internal/peers"
)

// CodeInvalidSubscription says that the query of a WebSocket names an unknown event or position.
const CodeInvalidSubscription = "INVALID_SUBSCRIPTION"

// subscription is the query of a WebSocket path.
type subscription struct {
	kinds []event.Kind // nil: all
	token string
	since *uint64
}

// WantsUpgrade answers 426 to a request that is not a WebSocket handshake of RFC 6455, and 400 to one
// without a valid key.
func WantsUpgrade(c *rest.Call) error {
	h := c.Request.Header
	if !c.Request.ProtoAtLeast(1, 1) || !hasToken(h, "Connection", "upgrade") || !hasToken(h, "Upgrade", "websocket") ||
		h.Get("Sec-Websocket-Version") != "13" {
		if c.Request.ProtoMajor == 1 { // HTTP/2 has no upgrade: clients open another connection for it
			c.Response.Header().Set("Connection", "Upgrade")
			c.Response.Header().Set("Upgrade", "websocket")
		}
		c.Response.Header().Set("Sec-Websocket-Version", "13")
		return rest.Refuse(http.StatusUpgradeRequired, rest.CodeUpgradeRequired, "this path is a WebSocket; send an upgrade request, version 13")
	}
	keys := h.Values("Sec-Websocket-Key")
	if len(keys) != 1 || !isNonce(keys[0]) {
		return invalidSubscription("Sec-WebSocket-Key must be given once, as 16 bytes in base64")
	}
	return nil
}

// isNonce reports whether key is 16 bytes in base64.
func isNonce(key string) bool {
	nonce, err := base64.StdEncoding.DecodeString(strings.TrimSpace(key))
	return err == nil && len(nonce) == 16
}

// hasToken reports whether a list-valued header contains the token.
func hasToken(h http.Header, name, token string) bool {
	for _, line := range h.Values(name) {
		for t := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// subscribe reads the query and the token of a handshake.
func (a *API) subscribe(c *rest.Call, family event.Family, known ...string) (subscription, error) {
	var s subscription
	q, err := c.Query(append(known, "token"), "event")
	if err != nil {
		return s, err
	}
	if s.kinds, err = kindsOf(rest.QueryList(q, "event"), family); err != nil {
		return s, err
	}
	if s.since, err = since(q); err != nil {
		return s, err
	}
	s.token = q.Get("token")
	if b := rest.Bearer(c.Request.Header); s.token == "" {
		s.token = b
	} else if b != "" && b != s.token {
		return s, invalidSubscription("the token is given twice with different values")
	}
	if s.token == "" {
		text, given, err := rest.KeyText(c.Request.Header) // in apikey
		if err != nil {
			return s, err
		}
		if given {
			s.token = text
			return s, nil
		}
		if _, signedIn := c.CookieOf(); signedIn {
			return s, nil
		}
		return s, invalidSubscription("token is missing: give it in the query or as Authorization: Bearer")
	}
	return s, nil
}

// kindsOf reads the names of events; for "*", all of the family, it returns nil.
func kindsOf(names []string, family event.Family) ([]event.Kind, error) {
	if len(names) == 0 {
		return nil, invalidSubscription("event is missing: name one or more events, or *")
	}
	var kinds []event.Kind
	for _, name := range names {
		d, known := event.Lookup(event.Kind(name))
		if name != "*" && (!known || d.Family != family) {
			return nil, invalidSubscription(strconv.Quote(event.Cut(name)) + " is not an event of this path")
		}
		if !slices.Contains(kinds, d.Kind) { // each event is held against all of them
			kinds = append(kinds, d.Kind)
		}
	}
	if slices.Contains(names, "*") {
		return nil, nil
	}
	return kinds, nil
}

func since(q url.Values) (*uint64, error) {
	if !q.Has("since") {
		return nil, nil
	}
	n, err := strconv.ParseUint(q.Get("since"), 10, 64)
	if err != nil {
		return nil, invalidSubscription("since must be a sequence number")
	}
	return &n, nil
}

func invalidSubscription(text string) error {
	return rest.Refuse(http.StatusBadRequest, CodeInvalidSubscription, text)
}

func wrongKind() error {
	return rest.Refuse(http.StatusForbidden, rest.CodeForbidden, "this path does not accept this kind of token")
}

// admit makes the checks that both paths share: 426, 400, 401, and 403 for a token of the other kind.
// own reports from the claims whether the token is of this kind. If it returns no claims, c has the key
// or the session that was used instead of a token.
func (a *API) admit(c *rest.Call, family event.Family, own func(tokens.Claims) bool, known ...string) (subscription, tokens.Claims, error) {
	if err := WantsUpgrade(c); err != nil {
		return subscription{}, tokens.Claims{}, err
	}
	s, err := a.subscribe(c, family, known...)
	if err != nil {
		return s, tokens.Claims{}, err
	}
	if s.token == "" || strings.HasPrefix(s.token, access.Prefix) {
		return s, tokens.Claims{}, a.admitKey(c, s.token)
	}
	token, err := c.ReadToken(s.token)
	if err != nil {
		return s, token, rest.Unauthorized()
	}
	if !own(token) {
		return s, token, wrongKind()
	}
	return s, token, nil
}

// admitKey finds the scoped key with a text or, without one, the session of the
// cookie, and whether it opens the path.
func (a *API) admitKey(c *rest.Call, text string) (err error) {
	if text != "" {
		c.Key, err = c.FindKey(text)
	} else if cookie, signedIn := c.CookieOf(); signedIn {
		err = c.OpenSession(cookie)
	}
	if err != nil || c.Key == nil {
		return err
	}
	return c.Response.Right.MayOpen(c.Key)
}

// scopedStream returns the stream for c's key or session. Pages of another origin cannot have such a
// stream, whatever origins may connect with a token.
func (a *API) scopedStream(c *rest.Call, s subscription) Stream {
	st := Stream{Kinds: s.kinds, Since: s.since, ExpiresAt: c.Until(), Scoped: true}
	switch {
	case c.Session != nil && c.Key != nil:
		st.Token, st.Holder = c.Session.Token, rest.KeyToken(c.Key.ID)
	case c.Session != nil:
		st.Token = c.Session.Token
	default:
		st.Token = rest.KeyToken(c.Key.ID)
	}
	st.Check = func() error { return c.StillOpens() }
	return st
}

// checkOrigin refuses a page of an origin that is not allowed, and a duplicate Origin
// header.
func (a *API) checkOrigin(c *rest.Call) error {
	r := c.Request
	if c.Session != nil && !sameOrigin(r) { // its cookie came by itself
		return ErrOrigin
	}
	if a.Hub.OriginAllowed(strings.Join(r.Header.Values("Origin"), ", "), r.Host) {
		return nil
	}
	return ErrOrigin
}

// globalEvents serves the batch events of a user. An unknown position is reported
// last, because only the owner may learn of it.
func (a *API) globalEvents(c *rest.Call) error {
	s, token, err := a.admit(c, event.Batch, tokens.Claims.OfUser, "since", "user")
	if err != nil {
		return err
	}
	user, err := a.userOf(c, token)
	if err != nil {
		return err
	}
	if err := a.checkOrigin(c); err != nil {
		return err
	}
	stream := s.stream(token)
	if c.Scoped() {
		stream = a.scopedStream(c, s)
		stream.Tells = a.Tells(c.Key)
	}
	peers.Prove(c.Request.Context())
	return a.Hub.ServeGlobal(c.Response, c.Request, user, stream)
}

// userOf returns the user whose events are requested. The operator names the user in the query.
func (a *API) userOf(c *rest.Call, token tokens.Claims) (user uuid.UUID, err error) {
	asked := c.Request.URL.Query().Get("user")
	switch {
	case c.Key != nil:
		user = c.Key.User
	case c.Session != nil:
		if user, err = uuid.Parse(asked); err != nil {
			return user, invalidSubscription("user must be the UUID of the user whose batches to use")
		}
	default:
		if user, err = token.User(); err != nil {
			return user, rest.Unauthorized()
		}
	}
	if asked != "" && asked != user.String() {
		return user, rest.Refuse(http.StatusForbidden, rest.CodeForbidden, "the credential is for another user")
	}
	return user, nil
}

// instanceEvents serves the events of one instance. The order of the checks is: token replaced, origin
// refused, instance deleted, instance without positions, position unknown.
func (a *API) instanceEvents(c *rest.Call) error {
	s, token, err := a.admit(c, event.Instance, tokens.Claims.OfInstance, "since", "instance")
	if err != nil {
		return err
	}
	if c.Scoped() {
		return a.scopedEvents(c, s)
	}
	name, err := token.Instance()
	if err != nil {
		return rest.Unauthorized()
	}
	if asked := c.Request.URL.Query().Get("instance"); asked != "" && asked != name {
		return rest.Refuse(http.StatusForbidden, rest.CodeForbidden, "this token is for another instance")
	}
	in, gone := c.TokenHolder(s.token, name)
	if gone != nil && !errors.Is(gone, rest.ErrNoInstance) {
		return gone
	}
	if err := a.checkOrigin(c); err != nil {
		return err
	}
	if gone != nil {
		return gone
	}
	stream := s.stream(token)
	stream.Check = func() error {
		_, err := c.TokenHolder(s.token, name)
		return err
	}
	return a.serveInstance(c, in, stream)
}

// scopedEvents serves the events of the instance named in the query, or of the only instance of the
// key.
func (a *API) scopedEvents(c *rest.Call, s subscription) (err error) {
	name := c.Request.URL.Query().Get("instance")
	if name == "" && c.Key != nil && len(c.Key.Instances) == 1 {
		in, err := a.Registry.ByID(c.Key.Instances[0].ID)
		switch {
		case errors.Is(err, instance.ErrNotFound):
			return rest.NoKeyInstance(c.Response.Right)
		case err != nil:
			return err
		}
		name = in.Name
	}
	switch {
	case name == "":
		return invalidSubscription("instance must name the instance whose events to receive")
	case c.Key != nil:
		c.Instance, err = c.KeyInstance(name, c.Response.Right)
	default:
		c.Instance, err = c.Server.Instances.Named(name)
	}
	if err != nil {
		return err
	}
	if s.kinds, err = c.MayHear(s.kinds); err != nil {
		return err
	}
	if err := a.checkOrigin(c); err != nil {
		return err
	}
	return a.serveInstance(c, c.Instance, a.scopedStream(c, s))
}

func (a *API) serveInstance(c *rest.Call, in rest.Instance, stream Stream) error {
	if stream.Durable, _ = a.Registry.Webhooks().Durable(in.ID); stream.Since != nil && !stream.Durable {
		return ErrNotDurable
	}
	peers.Prove(c.Request.Context())
	return a.Hub.ServeInstance(c.Response, c.Request, in.ID, stream)
}

// sameOrigin reports whether a request comes from a page of the host that it addresses.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Values("Origin")
	if len(origin) != 1 {
		return false
	}
	u, err := url.Parse(origin[0])
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

func (s subscription) stream(token tokens.Claims) Stream {
	st := Stream{Kinds: s.kinds, Since: s.since, Token: sha256.Sum256([]byte(s.token))}
	if token.ExpiresAt != nil {
		st.ExpiresAt = token.ExpiresAt.Time
	}
	return st
}
