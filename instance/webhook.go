package instance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// MaxURL is the longest webhook URL, in characters.
const MaxURL = 500

// Webhook is the webhook configuration of an instance.
type Webhook struct {
	ID         int64               `json:"id"`
	URL        string              `json:"url"`
	Enabled    bool                `json:"enabled"`
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

// ErrCodes rejects sending codes, which allow linking the account, to a new receiver.
var ErrCodes = errors.New("pairing codes may not be sent to a new receiver")

// hearsCodes reports whether a receiver with these flags receives pairing codes.
func hearsCodes(events map[event.Flag]bool) bool {
	d, _ := event.Lookup(event.QRCodeUpdated)
	return events[d.Flag]
}

// PutWebhook creates or changes the webhook of an instance, effective on return. Errors:
// ErrNotFound, ErrCodes, or a RuleError wrapping ErrInvalidWebhook, with nothing changed.
func (r *Registry) PutWebhook(ctx context.Context, id int64, c WebhookChange) (Webhook, error) {
	e := r.entry(id)
	if e == nil {
		return Webhook{}, ErrNotFound
	}
	if err := r.checkChange(c); err != nil {
		return Webhook{}, err
	}
	e.change.Lock()
	defer e.change.Unlock()
	if e.gone {
		return Webhook{}, ErrNotFound
	}
	before := e.webhook.Load()
	if before == nil && c.URL == nil {
		return Webhook{}, badWebhook("url", "is required when the webhook is created")
	}
	hook := keptWebhook{Key: c.Key}
	var ended []delivery.Ended
	err := r.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		if hook.Webhook, err = c.apply(tx, id, before); err != nil {
			return err
		}
		if ended = nil; before != nil && before.URL != hook.URL {
			to := event.Destination{URL: hook.URL, Headers: e.chosen().Headers}
			if ended, err = r.withhold(tx, webhookLane(id), to); err != nil {
				return err
			}
		}
		if c.NoCodes && hearsCodes(hook.Events) && (before == nil || !hearsCodes(before.Events) || before.URL != hook.URL) {
			return ErrCodes
		}
		return store.PutJSON(tx, webhooks, store.Key(id), hook)
	})
	if err != nil {
		return Webhook{}, fmt.Errorf("webhook of instance %d: %w", id, err)
	}
	e.webhook.Store(&hook)
	r.freed(ended)
	r.tellChange(id, e.record.Load().Name, false)
	r.tellLanes([]delivery.Lane{webhookLane(id)})
	return hook.clone(), nil
}

// Webhook returns the configuration of an instance. Errors: ErrNotFound,
// ErrNoWebhook.
func (r *Registry) Webhook(id int64) (Webhook, error) {
	e := r.entry(id)
	if e == nil {
		return Webhook{}, ErrNotFound
	}
	hook := e.webhook.Load()
	if hook == nil {
		return Webhook{}, ErrNoWebhook
	}
	return hook.clone(), nil
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

func (r *Registry) checkChange(c WebhookChange) error {
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
			return badWebhook(at+"events."+event.Cut(string(flag)), "is not a known event flag")
		}
	}
	return nil
}

func (r *Registry) checkURL(field, raw string) error {
	if utf8.RuneCountInString(raw) > MaxURL {
		return badWebhook(field, fmt.Sprintf("must have at most %d characters", MaxURL))
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return badWebhook(field, "must be a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return badWebhook(field, "must have the scheme http or https")
	case u.Hostname() == "":
		return badWebhook(field, "must name a host")
	case u.User != nil:
		return badWebhook(field, "must not contain a user or password; deliveries carry no Authorization header")
	}
	if err := event.CheckPort(u); err != nil {
		return badWebhook(field, err.Error())
	}
	if r.cfg.CheckURL == nil {
		return nil
	}
	if err := r.cfg.CheckURL(u); err != nil {
		return badWebhook(field, err.Error())
	}
	return nil
}

func badWebhook(field, rule string) error { return &RuleError{field, rule, ErrInvalidWebhook} }
