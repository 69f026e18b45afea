package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"postern/event"
)

const codeInvalidSubscription = "INVALID_SUBSCRIPTION"

// subscription is what the query of a WebSocket path asks for.
type subscription struct {
	kinds []event.Kind // nil: all
	token string
	since *uint64
}

// upgradeRequired answers 426 to a request that is no WebSocket handshake of
// RFC 6455.
func upgradeRequired(c *call) error {
	h := c.r.Header
	if hasToken(h, "Connection", "upgrade") && hasToken(h, "Upgrade", "websocket") && h.Get("Sec-Websocket-Version") == "13" {
		return nil
	}
	c.w.Header().Set("Connection", "Upgrade")
	c.w.Header().Set("Upgrade", "websocket")
	c.w.Header().Set("Sec-Websocket-Version", "13")
	return refuse(http.StatusUpgradeRequired, codeUpgradeRequired, "this path is a WebSocket; ask for the upgrade, version 13")
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
			return nil, invalidSubscription(strconv.Quote(name) + " is not an event of this path")
		}
		kinds = append(kinds, d.Kind)
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

// globalEvents serves the batch events of a user. Its checks have the order
// 426, 400, 401, 403.
func (a *api) globalEvents(c *call) error {
	if err := upgradeRequired(c); err != nil {
		return err
	}
	s, err := c.subscribe(event.Batch, "since")
	if err != nil {
		return err
	}
	token, err := readToken(a.JWTSecret, s.token)
	if err != nil {
		return errUnauthorized()
	}
	if token.InstanceName != "" {
		return wrongKind()
	}
	user, err := token.userID()
	if err != nil {
		return errUnauthorized()
	}
	return a.Hub.ServeGlobal(c.w, c.r, user, s.stream(token))
}

// instanceEvents serves the events of one instance, with 404 after the other
// checks.
func (a *api) instanceEvents(c *call) error {
	if err := upgradeRequired(c); err != nil {
		return err
	}
	s, err := c.subscribe(event.Instance)
	if err != nil {
		return err
	}
	token, err := readToken(a.JWTSecret, s.token)
	if err != nil {
		return errUnauthorized()
	}
	if token.InstanceName == "" && token.UserID != "" {
		return wrongKind()
	}
	name, err := token.instanceName()
	if err != nil {
		return errUnauthorized()
	}
	in, err := a.holder(s.token, name)
	if err != nil {
		return err
	}
	return a.Hub.ServeInstance(c.w, c.r, in.ID, s.stream(token))
}

func (s subscription) stream(token claims) Stream {
	st := Stream{Kinds: s.kinds, Since: s.since}
	if token.ExpiresAt != nil {
		st.ExpiresAt = token.ExpiresAt.Time
	}
	return st
}
