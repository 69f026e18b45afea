package webhooks

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// MaxURL is the longest webhook URL, in characters.
const MaxURL = 500

// Webhook is the webhook configuration of an instance.
type Webhook struct {
	ID         int64               `json:"id" doc:"The webhook's id." example:"1"`
	URL        string              `json:"url" doc:"Where events go." example:"https://example.org/hook" rules:"format=uri"`
	Enabled    bool                `json:"enabled" doc:"Whether events are sent at all." example:"true"`
	Events     map[event.Flag]bool `json:"events"` // the flags set, true or false
	CreatedAt  event.Time          `json:"createdAt"`
	UpdatedAt  event.Time          `json:"updatedAt"`
	InstanceID int64               `json:"instanceId"`
}

// WebhookChange is a request to create or change a webhook. A nil field is absent.
type WebhookChange struct {
	URL     *string             // required to create, else unchanged
	Enabled *bool               // absent means true
	Events  map[event.Flag]bool // absent keeps the flags, an empty map removes all

	// NoCodes is set for callers without the right to pair: see ErrCodes.
	NoCodes bool
	// Key is the scoped key that makes the change; zero: another credential.
	Key uuid.UUID
}

// keptWebhook is a webhook as stored.
type keptWebhook struct {
	Webhook

	Key uuid.UUID `json:"key,omitzero"` // that last changed it; zero: another credential
}

// Errors about webhooks.
var (
	// ErrNoWebhook: the instance has no webhook configuration.
	ErrNoWebhook = errors.New("instance has no webhook")
	// ErrNoInstance: there is no such instance.
	ErrNoInstance = errors.New("instance not found")
	// ErrInvalid is wrapped by event.RuleErrors.
	ErrInvalid = errors.New("invalid webhook configuration")
)

// ErrCodes rejects sending codes, which allow linking the account, to a new receiver.
var ErrCodes = errors.New("pairing codes may not be sent to a new receiver")

// hearsCodes reports whether a receiver with these flags receives pairing codes.
func hearsCodes(events map[event.Flag]bool) bool {
	d, _ := event.Lookup(event.QRCodeUpdated)
	return events[d.Flag]
}

func (h Webhook) clone() Webhook {
	h.Events = maps.Clone(h.Events)
	return h
}

// wants reports whether the webhook receives events of that flag.
func (h *keptWebhook) wants(f event.Flag) bool { return h != nil && h.Enabled && h.Events[f] }

func (c WebhookChange) apply(tx *store.Tx, id int64, before *keptWebhook) (Webhook, error) {
	now := event.At(tx.Now())
	hook := Webhook{InstanceID: id, Events: map[event.Flag]bool{}, CreatedAt: now}
	if before != nil {
		hook = before.clone()
	} else {
		n, err := tx.NextID(webhooks)
		if err != nil {
			return hook, err
		}
		hook.ID = int64(n)
	}
	hook.UpdatedAt = now
	hook.Enabled = c.Enabled == nil || *c.Enabled
	if c.URL != nil {
		hook.URL = *c.URL
	}
	if c.Events != nil {
		hook.Events = maps.Clone(c.Events)
	}
	return hook, nil
}

func (r Rules) checkChange(c WebhookChange) error {
	if err := checkFlags("", c.Events); err != nil {
		return err
	}
	if c.URL == nil {
		return nil
	}
	return r.checkURL("url", *c.URL)
}

// checkFlags checks event flags. at prefixes field names in errors.
func checkFlags(at string, events map[event.Flag]bool) error {
	for flag := range events {
		if !event.KnownFlag(flag) {
			return invalid(at+"events."+event.Cut(string(flag)), "is not a known event flag")
		}
	}
	return nil
}

func (r Rules) checkURL(field, raw string) error {
	if utf8.RuneCountInString(raw) > MaxURL {
		return invalid(field, fmt.Sprintf("must have at most %d characters", MaxURL))
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return invalid(field, "must be a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return invalid(field, "must have the scheme http or https")
	case u.Hostname() == "":
		return invalid(field, "must name a host")
	case u.User != nil:
		return invalid(field, "must not contain a user or password; deliveries carry no Authorization header")
	}
	if err := event.CheckPort(u); err != nil {
		return invalid(field, err.Error())
	}
	if r.CheckURL == nil {
		return nil
	}
	if err := r.CheckURL(u); err != nil {
		return invalid(field, err.Error())
	}
	return nil
}

func invalid(field, rule string) error {
	return &event.RuleError{Field: field, Rule: rule, Kind: ErrInvalid}
}
