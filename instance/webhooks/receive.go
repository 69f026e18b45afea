package webhooks

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"postern/store"
)

// ErrUnreadable is wrapped when an exported record is no JSON of its kind.
var ErrUnreadable = errors.New("unreadable")

func decoded[T any](raw json.RawMessage) (v T, err error) {
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return v, nil
}

// StoredRecords returns the webhook and the options of an instance as stored, nil where
// there are none, without the scoped key that last changed them.
func StoredRecords(tx *store.Tx, id int64) (webhook, options json.RawMessage, err error) {
	if webhook, err = tx.Get(webhooks, store.Key(id)); err == nil {
		options, err = tx.Get(optionsBucket, store.Key(id))
	}
	return withoutKey(webhook), withoutKey(options), err
}

// Import stores the webhook and the options of a new instance in its commit; nil: none,
// or the defaults.
func (e *Editor) Import(tx *store.Tx, id int64, webhook *WebhookChange, o *OptionsChange) error {
	if webhook != nil {
		if err := e.cfg.Rules.Webhook(*webhook); err != nil {
			return err
		}
		hook, err := webhook.apply(tx, id, nil)
		if err != nil {
			return err
		}
		if err := store.PutJSON(tx, webhooks, store.Key(id), hook); err != nil {
			return err
		}
	}
	options := e.firstOptions()
	if o != nil {
		changed, _, err := e.cfg.Rules.apply(*o, &options)
		if err != nil {
			return err
		}
		changed.Durable = changed.Durable || e.Directory.cfg.DurableDefault
		options = changed
	}
	if o == nil && !e.Directory.cfg.DurableDefault {
		return nil
	}
	return store.PutJSON(tx, optionsBucket, store.Key(id), options)
}

// Receive stores the exported webhook and options of a new instance, JSON null or empty
// where there is none, in its commit. Each becomes the request that would have created
// it. Errors are those of such requests, prefixed with the part, and ErrUnreadable.
func (e *Editor) Receive(tx *store.Tx, id int64, webhook, options json.RawMessage) error {
	for _, one := range []struct {
		name, bucket string
		raw          json.RawMessage
		build        func(tx *store.Tx, id int64, raw json.RawMessage) (any, error)
	}{{"webhook", webhooks, webhook, e.receiveWebhook}, {"webhook options", optionsBucket, options, e.receiveOptions}} {
		if len(one.raw) == 0 || string(one.raw) == "null" {
			continue
		}
		record, err := one.build(tx, id, one.raw)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		if err := store.PutJSON(tx, one.bucket, store.Key(id), record); err != nil {
			return err
		}
	}
	return nil
}

func (e *Editor) receiveWebhook(tx *store.Tx, id int64, raw json.RawMessage) (any, error) {
	had, err := decoded[Webhook](raw)
	if err != nil {
		return nil, err
	}
	change := WebhookChange{URL: &had.URL, Enabled: &had.Enabled, Events: had.Events}
	if err := e.cfg.Rules.Webhook(change); err != nil {
		return nil, err
	}
	hook, err := change.apply(tx, id, nil)
	if !had.CreatedAt.IsZero() {
		hook.CreatedAt = had.CreatedAt
	}
	return hook, err
}

func (e *Editor) receiveOptions(_ *store.Tx, _ int64, raw json.RawMessage) (any, error) {
	had, err := decoded[keptOptions](raw)
	if err != nil {
		return nil, err
	}
	change := OptionsChange{Durable: had.Durable, Order: &had.Order, MaxAge: &had.MaxAge, Headers: had.Headers, Filter: &had.Filter}
	if had.Media != "" {
		change.Media = &had.Media
	}
	for i := range had.Endpoints {
		p := &had.Endpoints[i]
		change.Endpoints = append(change.Endpoints, EndpointChange{ID: p.ID, URL: p.URL, Enabled: &p.Enabled, Events: p.Events, Headers: p.Headers})
	}
	none := defaultOptions()
	made, _, err := e.cfg.Rules.apply(change, &none)
	if err != nil {
		return nil, err
	}
	if made.Secrets, err = receivedSecrets("signing", had.Secrets); err != nil {
		return nil, err
	}
	for i := range made.Endpoints {
		if made.Endpoints[i].Secrets, err = receivedSecrets(fmt.Sprintf("endpoints[%d].signing", i), had.Endpoints[i].Secrets); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// receivedSecrets validates the signing secrets of a file, which must have the form of
// newSecret: one, or two of which the second expires.
func receivedSecrets(at string, had []signingSecret) ([]signingSecret, error) {
	for i, s := range had {
		text, ours := strings.CutPrefix(s.Text, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(text)
		if !ours || err != nil || len(key) != secretBytes || strings.ContainsAny(text, "\r\n") || i > 1 || i == 1 && s.Until.IsZero() {
			return nil, invalid(at+".secret", fmt.Sprintf("must be one or two secrets of %s and base64 of %d bytes", secretPrefix, secretBytes))
		}
	}
	return had, nil
}

// withoutKey removes the scoped key that last changed a record, which is meaningless in
// another file.
func withoutKey(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields["key"] == nil {
		return raw
	}
	delete(fields, "key")
	out, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return out
}
