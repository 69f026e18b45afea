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

	"postern/event"
	"postern/httpapi/tokens"
	"postern/instance"
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
		return refuse(http.StatusUpgradeRequired, codeUpgradeRequired, "this path is a WebSocket; ask for the upgrade, version 13")
	}
	keys := h.Values("Sec-Websocket-Key")
	if len(keys) != 1 || !isNonce(keys[0]) {
		return invalidSubscription("Sec-WebSocket-Key must be there once, 16 bytes in base64")
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
func (c *call) subscribe(family event.Family, known ...string) (subscription, error) {
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
		return s, invalidSubscription("token is missing: give it in the query or as Authorization: Bearer")
	}
	return s, nil
}

// kindsOf reads the names of events; "*" is all of the family, told as nil.
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
	return refuse(http.StatusForbidden, codeForbidden, "this token is not of the kind that this path takes")
}

// admit does the checks that both paths share: 426, 400, 401, and 403 for a
// token of the other kind. own tells from the claims whether it is of this one.
func (a *api) admit(c *call, family event.Family, own func(tokens.Claims) bool, known ...string) (subscription, tokens.Claims, error) {
	if err := wantsUpgrade(c); err != nil {
		return subscription{}, tokens.Claims{}, err
	}
	s, err := c.subscribe(family, known...)
	if err != nil {
		return s, tokens.Claims{}, err
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

// checkOrigin refuses a page that is not allowed. An Origin that is there twice
// is none that is allowed.
func (a *api) checkOrigin(r *http.Request) error {
	if a.Hub.OriginAllowed(strings.Join(r.Header.Values("Origin"), ", "), r.Host) {
		return nil
	}
	return ErrOrigin
}

// globalEvents serves the batch events of a user. A position that the user does
// not have is found last, since only the owner may learn of it.
func (a *api) globalEvents(c *call) error {
	s, token, err := a.admit(c, event.Batch, tokens.Claims.OfUser, "since")
	if err != nil {
		return err
	}
	user, err := token.User()
	if err != nil {
		return errUnauthorized()
	}
	if err := a.checkOrigin(c.r); err != nil {
		return err
	}
	return a.Hub.ServeGlobal(c.w, c.r, user, s.stream(token))
}

// instanceEvents serves the events of one instance. An instance that is gone is
// told after an origin that is refused, a token that was replaced before it. That
// the instance has no positions is told before one that it does not have.
func (a *api) instanceEvents(c *call) error {
	s, token, err := a.admit(c, event.Instance, tokens.Claims.OfInstance, "since")
	if err != nil {
		return err
	}
	name, err := token.Instance()
	if err != nil {
		return errUnauthorized()
	}
	in, gone := a.holder(s.token, name)
	if gone != nil && !errors.Is(gone, instance.ErrNotFound) {
		return gone
	}
	if err := a.checkOrigin(c.r); err != nil {
		return err
	}
	if gone != nil {
		return gone
	}
	stream := s.stream(token)
	if stream.Durable, _ = a.Registry.Durable(in.ID); s.since != nil && !stream.Durable {
		return ErrNotDurable
	}
	stream.Check = func() error {
		_, err := a.holder(s.token, name)
		return err
	}
	return a.Hub.ServeInstance(c.w, c.r, in.ID, stream)
}

func (s subscription) stream(token tokens.Claims) Stream {
	st := Stream{Kinds: s.kinds, Since: s.since, Token: sha256.Sum256([]byte(s.token))}
	if token.ExpiresAt != nil {
		st.ExpiresAt = token.ExpiresAt.Time
	}
	return st
}
