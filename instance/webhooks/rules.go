package webhooks

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// OptionsChange is a request to replace options. A nil field takes its default.
type OptionsChange struct {
	Durable   bool
	Order     *event.Order
	MaxAge    *string           // a duration, for example 90s or 72h
	Headers   map[string]string // *** keeps the current value
	Signed    bool
	Media     *event.MediaOption
	Filter    *Filter
	Endpoints []EndpointChange

	// NoCodes is set for callers without the right to pair: see ErrCodes.
	NoCodes bool
	// Key is the scoped key that makes the change; zero: another credential.
	Key uuid.UUID
}

// EndpointChange is one endpoint of a change.
type EndpointChange struct {
	ID      string
	URL     string
	Enabled *bool // absent means true
	Events  map[event.Flag]bool
	Headers map[string]string
	Signed  bool
}

// Rules checks webhooks and options.
type Rules struct {
	CheckURL func(*url.URL) error // rejects forbidden hosts; nil allows all
}

// Webhook returns the rule that a new webhook violates, nil if it is valid.
func (r Rules) Webhook(c WebhookChange) error {
	if c.URL == nil {
		return invalid("url", "is required when the webhook is created")
	}
	return r.checkChange(c)
}

// Options is Webhook for options.
func (r Rules) Options(c OptionsChange) error {
	before := defaultOptions()
	_, _, err := r.apply(c, &before)
	return err
}

// apply merges a change with the former options, which have the secrets. fresh are the
// secrets it created. Errors: ErrCodes, and event.RuleErrors wrapping ErrInvalid.
func (r Rules) apply(c OptionsChange, before *keptOptions) (o keptOptions, fresh map[string]bool, err error) {
	o = defaultOptions()
	o.Durable, o.Key = c.Durable, c.Key
	if c.Media != nil {
		if o.Media = *c.Media; o.Media != event.MediaNone && o.Media != event.MediaAsLink {
			return o, nil, invalid("media", "must be none or link")
		}
	}
	if c.Order != nil {
		o.Order = *c.Order
	}
	if c.MaxAge != nil {
		o.MaxAge = *c.MaxAge
	}
	if c.Filter != nil {
		o.Filter = *c.Filter
	}
	if err := o.checkFlow(); err != nil {
		return o, nil, err
	}
	fresh = map[string]bool{}
	if o.access, err = before.change("", c.Headers, c.Signed, fresh); err != nil {
		return o, nil, err
	}
	if len(c.Endpoints) > MaxEndpoints {
		return o, nil, invalid("endpoints", fmt.Sprintf("must have at most %d entries", MaxEndpoints))
	}
	for i, change := range c.Endpoints {
		p, err := r.applyEndpoint(fmt.Sprintf("endpoints[%d].", i), change, before, fresh)
		if err != nil {
			return o, nil, err
		}
		if o.endpoint(p.ID) != nil {
			return o, nil, invalid(fmt.Sprintf("endpoints[%d].id", i), "must differ from the ids of the other endpoints")
		}
		if old := before.endpoint(p.ID); c.NoCodes && hearsCodes(p.Events) && (old == nil || !hearsCodes(old.Events) || old.URL != p.URL) {
			return o, nil, ErrCodes
		}
		o.Endpoints = append(o.Endpoints, p)
	}
	return o, fresh, nil
}

// checkFlow checks the rules of durable delivery.
func (o *keptOptions) checkFlow() error {
	age, err := time.ParseDuration(o.MaxAge)
	switch {
	case len(o.MaxAge) > 32 || err != nil || age < MinMaxAge || age > MaxMaxAge:
		return invalid("maxAge", "must be a duration of 1s to 720h, such as 90s or 72h")
	case o.Order != event.OrderNone && o.Order != event.OrderChat && o.Order != event.OrderInstance:
		return invalid("order", "must be none, chat or instance")
	case o.Order != event.OrderNone && !o.Durable:
		return invalid("order", "must be none unless durable is true")
	}
	return nil
}

func (r Rules) applyEndpoint(at string, c EndpointChange, before *keptOptions, fresh map[string]bool) (p keptEndpoint, err error) {
	if !IsEndpointID(c.ID) {
		return p, invalid(at+"id", fmt.Sprintf("must have 1 to %d characters of A-Z a-z 0-9 . _ -", MaxEndpointID))
	}
	if err := r.checkURL(at+"url", c.URL); err != nil {
		return p, err
	}
	if err := checkFlags(at, c.Events); err != nil {
		return p, err
	}
	p = keptEndpoint{ID: c.ID, URL: c.URL, Enabled: c.Enabled == nil || *c.Enabled, Events: maps.Clone(c.Events)}
	old := &access{}
	if known := before.endpoint(c.ID); known != nil {
		old = &known.access
	}
	p.access, err = old.change(at, c.Headers, c.Signed, fresh)
	return p, err
}

// IsEndpointID reports whether an endpoint may have the id.
func IsEndpointID(id string) bool {
	return id != "" && len(id) <= MaxEndpointID && !strings.ContainsFunc(id, func(c rune) bool { return !isAlphanumeric(c) && c != '.' && c != '_' && c != '-' })
}

func isAlphanumeric(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// change returns the access after a change: with the given headers, and with a secret if
// signed. at prefixes field names in errors.
func (a *access) change(at string, headers map[string]string, signed bool, fresh map[string]bool) (next access, err error) {
	if next.Headers, err = a.changeHeaders(at+"headers", headers); err != nil || !signed {
		return next, err
	}
	if next.Secrets = a.Secrets; len(next.Secrets) == 0 {
		made := newSecret()
		fresh[made.Text] = true
		next.Secrets = []signingSecret{made}
	}
	return next, nil
}

func (a *access) changeHeaders(at string, headers map[string]string) (map[string]string, error) {
	if len(headers) == 0 {
		return nil, nil
	}
	if len(headers) > MaxHeaders {
		return nil, invalid(at, fmt.Sprintf("must have at most %d entries", MaxHeaders))
	}
	next := map[string]string{}
	names := map[string]bool{} // in lower case
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if err := checkHeaderName(at, name); err != nil {
			return nil, err
		}
		lower := strings.ToLower(name)
		if names[lower] {
			return nil, invalid(at+"."+event.Cut(name), "is a duplicate; header names are case-insensitive")
		}
		names[lower] = true
		value := headers[name]
		if value == hidden {
			old, known := a.header(name)
			if !known {
				return nil, invalid(at+"."+event.Cut(name), "needs a value; there is no current value for *** to keep")
			}
			value = old
		}
		if !isHeaderValue(value) {
			return nil, invalid(at+"."+event.Cut(name), fmt.Sprintf("must have at most %d visible ASCII characters, with spaces only in between", MaxHeaderValue))
		}
		next[name] = value
	}
	return next, nil
}

// ownHeaders are the headers that every delivery has, and those that frame a request or
// control its connection: setting these could end a request early or change its meaning.
var ownHeaders = []string{
	"user-agent", "x-request-id", "x-owner-jid", "x-instance-name", "x-instance-id", "x-webhook-event", "host",
	"connection", "transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive", "proxy-connection",
}

func checkHeaderName(at, name string) error {
	if name == "" || len(name) > MaxHeaderName || strings.ContainsFunc(name, func(c rune) bool { return !isAlphanumeric(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", c) }) {
		return invalid(at+"."+event.Cut(name), fmt.Sprintf("must be the name of a header: 1 to %d letters, digits and !#$%%&'*+-.^_`|~", MaxHeaderName))
	}
	lower := strings.ToLower(name)
	if slices.Contains(ownHeaders, lower) || strings.HasPrefix(lower, "content-") || strings.HasPrefix(lower, "webhook-") {
		return invalid(at+"."+event.Cut(name), "must be another name; this header is reserved for deliveries or the connection")
	}
	return nil
}

func isHeaderValue(value string) bool {
	return len(value) <= MaxHeaderValue && strings.Trim(value, " ") == value && !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' })
}

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
)

func newSecret() signingSecret {
	key := make([]byte, secretBytes)
	_, _ = rand.Read(key) // never fails
	return signingSecret{Text: secretPrefix + base64.StdEncoding.EncodeToString(key)}
}
