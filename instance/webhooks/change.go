package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// PutWebhook creates or changes the webhook of an instance, effective on return. Errors:
// ErrNoInstance, ErrCodes, or an event.RuleError wrapping ErrInvalid, with nothing changed.
func (e *Editor) PutWebhook(ctx context.Context, id int64, c WebhookChange) (Webhook, error) {
	s := e.scope(id)
	if s == nil || id == Global {
		return Webhook{}, ErrNoInstance
	}
	if err := e.cfg.Rules.checkChange(c); err != nil {
		return Webhook{}, err
	}
	s.change.Lock()
	defer s.change.Unlock()
	if s.gone {
		return Webhook{}, ErrNoInstance
	}
	before := s.webhook.Load()
	if before == nil && c.URL == nil {
		return Webhook{}, invalid("url", "is required when the webhook is created")
	}
	hook := keptWebhook{Key: c.Key}
	var ended []delivery.Ended
	err := e.Directory.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		if err := e.cfg.Owner(tx, id); err != nil {
			return err // deleted in the meantime
		}
		if hook.Webhook, err = c.apply(tx, id, before); err != nil {
			return err
		}
		if ended = nil; before != nil && before.URL != hook.URL {
			to := event.Destination{URL: hook.URL, Headers: s.chosen().Headers}
			if ended, err = e.withhold(tx, webhookLane(id), to); err != nil {
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
	s.webhook.Store(&hook)
	e.freed(ended)
	e.tellChange(id)
	e.tellLanes([]delivery.Lane{webhookLane(id)})
	return hook.clone(), nil
}

// PutOptions replaces the options of an instance's webhook, which need not exist, or with
// Global of the global one, and returns them with the secrets it created. They apply
// from the commit on. Errors: ErrNoInstance, ErrCodes, or an event.RuleError wrapping
// ErrInvalid, with nothing changed.
func (e *Editor) PutOptions(ctx context.Context, id int64, c OptionsChange) (Options, error) {
	for {
		seen, err := e.clearAdded(ctx, id, c)
		if err != nil {
			return Options{}, err
		}
		o, err := e.replaceOptions(ctx, id, func(before *heldOptions) (o keptOptions, fresh map[string]bool, err error) {
			if before != seen && len(before.added(id, c)) > 0 {
				return o, nil, errOvertaken
			}
			return e.cfg.Rules.apply(c, &before.keptOptions)
		})
		if !errors.Is(err, errOvertaken) {
			return o, err
		}
	}
}

// errOvertaken reports a concurrent change of the options; lanes of endpoints that it
// removed may not be cleared yet.
var errOvertaken = errors.New("the options changed meanwhile")

// DropOptions resets the options to the defaults. Errors: ErrNoInstance.
func (e *Editor) DropOptions(ctx context.Context, id int64) (Options, error) {
	return e.replaceOptions(ctx, id, func(*heldOptions) (keptOptions, map[string]bool, error) { return e.firstOptions(), nil, nil })
}

// RotateSecret creates a new secret for the webhook or one of its endpoints, and returns
// the options with it. Deliveries are also signed with the former secret for
// SecretOverlap. Errors: ErrNoInstance, ErrNoEndpoint, ErrNotSigned, or one that wraps
// store.ErrDamaged.
func (e *Editor) RotateSecret(ctx context.Context, id int64, endpoint string) (Options, error) {
	if _, err := e.Options(id); err != nil {
		return Options{}, err
	}
	return e.replaceOptions(ctx, id, func(before *heldOptions) (o keptOptions, fresh map[string]bool, err error) {
		o = before.keptOptions
		o.Endpoints = slices.Clone(before.Endpoints)
		whose := &o.access
		if endpoint != "" {
			p := o.endpoint(endpoint)
			if p == nil {
				return o, nil, ErrNoEndpoint
			}
			whose = &p.access
		}
		if len(whose.Secrets) == 0 {
			return o, nil, ErrNotSigned
		}
		former, made := whose.Secrets[0], newSecret()
		former.Until = event.At(e.Directory.cfg.Store.Now().Add(SecretOverlap))
		whose.Secrets = []signingSecret{made, former}
		return o, map[string]bool{made.Text: true}, nil
	})
}

// replaceOptions stores the result of change and reports the affected lanes.
func (e *Editor) replaceOptions(ctx context.Context, id int64, change func(before *heldOptions) (o keptOptions, fresh map[string]bool, err error)) (Options, error) {
	s := e.scope(id)
	if s == nil {
		return Options{}, ErrNoInstance
	}
	s.change.Lock()
	defer s.change.Unlock()
	if s.gone {
		return Options{}, ErrNoInstance
	}
	before := s.chosen()
	next, fresh, err := change(before)
	if err != nil {
		return Options{}, err
	}
	after := hold(next)
	s.changing.Store(after)
	defer s.changing.Store(nil)
	var ended []delivery.Ended
	err = e.Directory.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		if id != Global {
			if err := e.cfg.Owner(tx, id); err != nil {
				return err // deleted in the meantime
			}
		}
		if ended, err = e.withholdAll(tx, id, s, before, after); err != nil {
			return err
		}
		return store.PutJSON(tx, optionsBucket, store.Key(id), next)
	})
	if err != nil {
		return Options{}, fmt.Errorf("webhook options of instance %d: %w", id, err)
	}
	s.options.Store(after)
	e.freed(ended)
	e.tellLanes(lanesOf(id, before, after))
	return next.show(fresh), nil
}

// clearAdded cancels pending events of removed endpoints before new endpoints reuse their
// ids. It returns the options that it used.
func (e *Editor) clearAdded(ctx context.Context, id int64, c OptionsChange) (seen *heldOptions, err error) {
	s := e.scope(id)
	if s == nil {
		return nil, ErrNoInstance
	}
	seen = s.chosen()
	if added := seen.added(id, c); len(added) > 0 && e.cfg.ClearLanes != nil {
		err = e.cfg.ClearLanes(store.WithUpdate(ctx, nil), added) // events of this change belong to a later commit
	}
	return seen, err
}

// added returns the lanes of the endpoints that a change adds.
func (o *heldOptions) added(id int64, c OptionsChange) (lanes []delivery.Lane) {
	for i := range c.Endpoints[:min(len(c.Endpoints), MaxEndpoints)] {
		if p := c.Endpoints[i].ID; o.endpoint(p) == nil && o.failed == nil {
			lanes = append(lanes, endpointLane(id, p))
		}
	}
	return lanes
}
