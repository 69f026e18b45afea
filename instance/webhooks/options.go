package webhooks

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// Global is the instance id that selects the options of the global webhook.
const Global int64 = 0

// Limits of options.
const (
	MaxHeaders     = 16
	MaxHeaderName  = 256  // bytes
	MaxHeaderValue = 4096 // bytes
	MaxEndpoints   = 8
	MaxEndpointID  = 64 // characters
	MinMaxAge      = time.Second
	MaxMaxAge      = 720 * time.Hour
	DefaultMaxAge  = "72h"
)

// hidden replaces the value of a header wherever options are shown.
const hidden = "***"

// SecretOverlap is how long a replaced signing secret remains in use beside the new one.
const SecretOverlap = 24 * time.Hour

// Errors about options, besides event.RuleErrors that wrap ErrInvalid.
var (
	// ErrNoEndpoint: the options have no endpoint of that id.
	ErrNoEndpoint = errors.New("the options have no endpoint with this id")
	// ErrNotSigned: there is no secret to rotate.
	ErrNotSigned = errors.New("signing is off; enable it with PUT, which creates a secret")
)

// GlobalOptions are the options of the global webhook, and the common part of those of
// instances, as shown: without secrets.
type GlobalOptions struct {
	Durable bool        `json:"durable"`
	Order   event.Order `json:"order"`
	// as given
	MaxAge  string            `json:"maxAge" doc:"How long a durable event is tried, from 1s to 720h; fixed when it is created." example:"72h"`
	Headers map[string]string `json:"headers"` // *** for every value
	Signing Signing           `json:"signing" doc:"Whether deliveries are signed."`
	Media   event.MediaOption `json:"media,omitempty"` // absent: not set, as none
}

// Options are the options of an instance's webhook, as shown.
type Options struct {
	GlobalOptions

	Filter    Filter     `json:"filter" doc:"What the webhook and the endpoints receive."`
	Endpoints []Endpoint `json:"endpoints"`
}

// Signing says whether deliveries are signed.
type Signing struct {
	Enabled bool   `json:"enabled" doc:"Whether webhook-id, webhook-timestamp and webhook-signature are sent." example:"true"`
	Secret  string `json:"secret,omitempty" doc:"The secret, whsec_ and base64; only in the answer to the request that created it." example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="`
}

// Filter selects what a webhook and its endpoints receive; false excludes.
type Filter struct {
	Groups      bool `json:"groups" doc:"Events of groups." example:"true"`
	Status      bool `json:"status" doc:"Status posts of contacts." example:"false"`
	Newsletters bool `json:"newsletters" doc:"Events of newsletters, and the event news.letter." example:"true"`
	Broadcasts  bool `json:"broadcasts" doc:"Messages to broadcast lists that include the account." example:"true"`
	FromMe      bool `json:"fromMe" doc:"messages.upsert for messages that the account itself sent." example:"false"`
}

// Endpoint is a further destination of an instance's events, as shown.
type Endpoint struct {
	ID      string              `json:"id"`
	URL     string              `json:"url"`
	Enabled bool                `json:"enabled" doc:"Whether events are sent at all; true when absent." example:"true"`
	Events  map[event.Flag]bool `json:"events"`
	Headers map[string]string   `json:"headers"` // *** for every value
	Signing Signing             `json:"signing" doc:"Whether its deliveries are signed, with a secret of its own."`
}

// keptOptions are options as stored, secrets included. They have a bucket of their own: a
// release that does not know the bucket rejects the file, whereas it would ignore a field
// and deliver unsigned and unfiltered.
type keptOptions struct {
	access

	Durable   bool              `json:"durable"`
	Order     event.Order       `json:"order"`
	MaxAge    string            `json:"maxAge"`
	Filter    Filter            `json:"filter"`
	Endpoints []keptEndpoint    `json:"endpoints,omitempty"`
	Media     event.MediaOption `json:"media,omitempty"` // empty: not set, as none
	Key       uuid.UUID         `json:"key,omitzero"`    // that last replaced them; zero: another credential
}

// keptEndpoint is an endpoint as stored.
type keptEndpoint struct {
	access

	ID      string              `json:"id"`
	URL     string              `json:"url"`
	Enabled bool                `json:"enabled"`
	Events  map[event.Flag]bool `json:"events"`
}

// access is how deliveries authenticate to a receiver. It is never shown.
type access struct {
	Headers map[string]string `json:"headers,omitempty"`
	Secrets []signingSecret   `json:"secrets,omitempty"` // newest first, at most two; none: not signed
}

// signingSecret is a key of Standard Webhooks.
type signingSecret struct {
	Text  string     `json:"text"`           // whsec_ and base64
	Until event.Time `json:"until,omitzero"` // end of a replaced secret
}

// heldOptions are options in force. They are immutable and replaced as a whole.
type heldOptions struct {
	keptOptions

	maxAge time.Duration
	failed error // why the stored options are unreadable
}

// defaultOptions are the options where none were set.
func defaultOptions() keptOptions {
	return keptOptions{Order: event.OrderNone, MaxAge: DefaultMaxAge, Filter: Filter{true, true, true, true, true}}
}

// plainOptions are in force where none are stored.
var plainOptions = hold(defaultOptions())

func hold(kept keptOptions) *heldOptions {
	age, _ := time.ParseDuration(kept.MaxAge) // validated before it was stored
	return &heldOptions{keptOptions: kept, maxAge: age}
}

// chosen returns the options in force. They must not be modified.
func (e *Scope) chosen() *heldOptions {
	if o := e.options.Load(); o != nil {
		return o
	}
	return plainOptions
}

// loadOptions loads the stored options. If they are unreadable, nothing is delivered in
// another way than requested: events for the webhook, and those pending for endpoints,
// wait in the file until the options are set again.
func loadOptions(tx *store.Tx, held *atomic.Pointer[heldOptions], id int64) error {
	kept, found, err := store.GetJSON[keptOptions](tx, optionsBucket, store.Key(id))
	switch {
	case errors.Is(err, store.ErrDamaged):
		broken := *plainOptions
		broken.Durable, broken.failed = true, err
		held.Store(&broken)
	case err != nil:
		return err
	case found:
		held.Store(hold(kept))
	}
	return nil
}

// endpoint returns the endpoint with an id, nil if there is none.
func (o *keptOptions) endpoint(id string) *keptEndpoint {
	i := slices.IndexFunc(o.Endpoints, func(p keptEndpoint) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &o.Endpoints[i]
}

// header returns the value of a header; the case of its name is ignored.
func (a *access) header(name string) (value string, found bool) {
	for known, value := range a.Headers {
		if strings.EqualFold(known, name) {
			return value, true
		}
	}
	return "", false
}

// signing shows a secret only if it is in fresh, the set of those that the request
// created.
func (a *access) signing(fresh map[string]bool) Signing {
	s := Signing{Enabled: len(a.Secrets) > 0}
	if s.Enabled && fresh[a.Secrets[0].Text] {
		s.Secret = a.Secrets[0].Text
	}
	return s
}

func (a *access) shownHeaders() map[string]string {
	shown := make(map[string]string, len(a.Headers))
	for name := range a.Headers {
		shown[name] = hidden
	}
	return shown
}

// show returns options without secrets.
func (o *keptOptions) show(fresh map[string]bool) Options {
	shown := Options{
		GlobalOptions: GlobalOptions{Durable: o.Durable, Order: o.Order, MaxAge: o.MaxAge, Headers: o.shownHeaders(), Signing: o.signing(fresh), Media: o.Media},
		Filter:        o.Filter,
		Endpoints:     make([]Endpoint, 0, len(o.Endpoints)),
	}
	for i := range o.Endpoints {
		p := &o.Endpoints[i]
		events := maps.Clone(p.Events)
		if events == nil {
			events = map[event.Flag]bool{}
		}
		shown.Endpoints = append(shown.Endpoints, Endpoint{p.ID, p.URL, p.Enabled, events, p.shownHeaders(), p.signing(fresh)})
	}
	return shown
}
