package httpapi

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
	"postern/httpapi/tokens"
	"postern/instance"
	"postern/internal/peers"
)

const codeInvalidSubscription = "INVALID_SUBSCRIPTION"

// subscription is what the query of a WebSocket path asks for.
type subscription struct {
	kinds []event.Kind // nil: all
	token string
	since *uint64
}

// wantsUpgrade answers 426 to a request that is no WebSocket handshake of
// RFC 6455, and 400 to one without a proper key.
func wantsUpgrade(c *call) error {
	h := c.r.Header
	if !c.r.ProtoAtLeast(1, 1) || !hasToken(h, "Connection", "upgrade") || !hasToken(h, "Upgrade", "websocket") ||
		h.Get("Sec-Websocket-Version") != "13" {
		if c.r.ProtoMajor == 1 { // HTTP/2 has no upgrade: clients open another connection for it
			c.w.Header().Set("Connection", "Upgrade")
			c.w.Header().Set("Upgrade", "websocket")
		}
		c.w.Header().Set("Sec-Websocket-Version", "13")
		return refuse(http.StatusUpgradeRequired, codeUpgradeRequired, "this path is a WebSocket; send an upgrade request, version 13")
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

// hasToken reports whether a header that holds a list has the token.
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
func (a *api) subscribe(c *call, family event.Family, known ...string) (subscription, error) {
	var s subscription
	q, err := c.query(append(known, "token"), "event")
	if err != nil {
		return s, err
	}
	if s.kinds, err = kindsOf(manyOf(q, "event"), family); err != nil {
		return s, err
	}
	if s.since, err = since(q); err != nil {
		return s, err
	}
	s.token = q.Get("token")
	if b := bearer(c.r.Header); s.token == "" {
		s.token = b
	} else if b != "" && b != s.token {
		return s, invalidSubscription("the token is given twice with different values")
	}
	if s.token == "" {
		text, given, err := keyText(c.r.Header) // in apikey
		if err != nil {
			return s, err
		}
		if given {
			s.token = text
			return s, nil
		}
		if _, signedIn := a.cookieOf(c.r); signedIn {
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
	return refuse(http.StatusBadRequest, codeInvalidSubscription, text)
}

func wrongKind() error {
	return refuse(http.StatusForbidden, codeForbidden, "this path does not accept this kind of token")
}

// admit does the checks that both paths share: 426, 400, 401, and 403 for a
// token of the other kind. own reports from the claims whether it is of this one.
// Without claims, c has the key or the session that was given in place of a token.
func (a *api) admit(c *call, family event.Family, own func(tokens.Claims) bool, known ...string) (subscription, tokens.Claims, error) {
	if err := wantsUpgrade(c); err != nil {
		return subscription{}, tokens.Claims{}, err
	}
	s, err := a.subscribe(c, family, known...)
	if err != nil {
		return s, tokens.Claims{}, err
	}
	if s.token == "" || strings.HasPrefix(s.token, access.Prefix) {
		return s, tokens.Claims{}, a.admitKey(c, s.token)
	}
	token, err := a.tokens.Read(s.token)
	if err != nil {
		return s, token, errUnauthorized()
	}
	if !own(token) {
		return s, token, wrongKind()
	}
	return s, token, nil
}

// admitKey finds the scoped key with a text or, without one, the session of the
// cookie, and whether it opens the path.
func (a *api) admitKey(c *call, text string) (err error) {
	if text != "" {
		c.key, err = a.findKey(c, text)
	} else if cookie, signedIn := a.cookieOf(c.r); signedIn {
		err = a.openSession(c, cookie)
	}
	if err != nil || c.key == nil {
		return err
	}
	return c.w.right.mayOpen(c.key)
}

// scoped reports whether c came with a scoped key or a session.
func (c *call) scoped() bool { return c.key != nil || c.session != nil }

// scopedStream is stream for c's key or session. A page of another origin has none of
// its own, whatever origins may connect with a token.
func (a *api) scopedStream(c *call, s subscription) Stream {
	st := Stream{Kinds: s.kinds, Since: s.since, ExpiresAt: c.until(), Scoped: true}
	switch {
	case c.session != nil && c.key != nil:
		st.Token, st.Holder = c.session.Token, keyToken(c.key.ID)
	case c.session != nil:
		st.Token = c.session.Token
	default:
		st.Token = keyToken(c.key.ID)
	}
	st.Check = func() error { return a.stillOpens(c) }
	return st
}

// stillOpens reports whether the key and the session of c have kept their rights.
func (a *api) stillOpens(c *call) error {
	if c.session != nil {
		if _, found := a.Access.Sessions.Find(c.cookie, a.operatorBinding()); !found {
			return errUnauthorized()
		}
	}
	if c.key == nil {
		return nil
	}
	now, err := a.Access.Keys.ByID(c.key.ID, a.from(c))
	if err != nil {
		return errUnauthorized()
	}
	if c.key.Narrower(now) {
		return errScope("the key was narrowed during the handshake; connect again")
	}
	return nil
}

// checkOrigin refuses a page of an origin that is not allowed, and a duplicate Origin
// header.
func (a *api) checkOrigin(c *call) error {
	r := c.r
	if c.session != nil && !sameOrigin(r) { // its cookie came by itself
		return ErrOrigin
	}
	if a.Hub.OriginAllowed(strings.Join(r.Header.Values("Origin"), ", "), r.Host) {
		return nil
	}
	return ErrOrigin
}

// globalEvents serves the batch events of a user. An unknown position is reported
// last, because only the owner may learn of it.
func (a *api) globalEvents(c *call) error {
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
	if c.scoped() {
		stream = a.scopedStream(c, s)
		stream.Tells = a.tells(c.key)
	}
	peers.Prove(c.r.Context())
	return a.Hub.ServeGlobal(c.w, c.r, user, stream)
}

// userOf is the user whose events are requested. The operator names the user in the query.
func (a *api) userOf(c *call, token tokens.Claims) (user uuid.UUID, err error) {
	asked := c.r.URL.Query().Get("user")
	switch {
	case c.key != nil:
		user = c.key.User
	case c.session != nil:
		if user, err = uuid.Parse(asked); err != nil {
			return user, invalidSubscription("user must be the UUID of the user whose batches to use")
		}
	default:
		if user, err = token.User(); err != nil {
			return user, errUnauthorized()
		}
	}
	if asked != "" && asked != user.String() {
		return user, refuse(http.StatusForbidden, codeForbidden, "the credential is for another user")
	}
	return user, nil
}

// instanceEvents serves the events of one instance. The order of the
// checks is: token replaced, origin refused, instance deleted, instance without
// positions, position unknown.
func (a *api) instanceEvents(c *call) error {
	s, token, err := a.admit(c, event.Instance, tokens.Claims.OfInstance, "since", "instance")
	if err != nil {
		return err
	}
	if c.scoped() {
		return a.scopedEvents(c, s)
	}
	name, err := token.Instance()
	if err != nil {
		return errUnauthorized()
	}
	if asked := c.r.URL.Query().Get("instance"); asked != "" && asked != name {
		return refuse(http.StatusForbidden, codeForbidden, "this token is for another instance")
	}
	in, gone := a.holder(s.token, name)
	if gone != nil && !errors.Is(gone, instance.ErrNotFound) {
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
		_, err := a.holder(s.token, name)
		return err
	}
	return a.serveInstance(c, in, stream)
}

// scopedEvents serves the events of the instance that the query names, or of the
// only one that the key is for.
func (a *api) scopedEvents(c *call, s subscription) (err error) {
	name := c.r.URL.Query().Get("instance")
	if name == "" && c.key != nil && len(c.key.Instances) == 1 {
		in, err := a.Registry.ByID(c.key.Instances[0].ID)
		if err != nil {
			return err
		}
		name = in.Name
	}
	switch {
	case name == "":
		return invalidSubscription("instance must name the instance whose events to receive")
	case c.key != nil:
		c.instance, err = a.keyInstance(c.key, name, c.w.right)
	default:
		c.instance, err = a.Registry.ByName(name)
	}
	if err != nil {
		return err
	}
	if s.kinds, err = c.mayHear(s.kinds); err != nil {
		return err
	}
	if err := a.checkOrigin(c); err != nil {
		return err
	}
	return a.serveInstance(c, c.instance, a.scopedStream(c, s))
}

func (a *api) serveInstance(c *call, in instance.Record, stream Stream) error {
	if stream.Durable, _ = a.Registry.Webhooks().Durable(in.ID); stream.Since != nil && !stream.Durable {
		return ErrNotDurable
	}
	peers.Prove(c.r.Context())
	return a.Hub.ServeInstance(c.w, c.r, in.ID, stream)
}

// sameOrigin reports whether a request comes from a page of the host that it asks.
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
