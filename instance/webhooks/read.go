package webhooks

import (
	"encoding/json"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// Webhook returns the configuration of an instance. Errors: ErrNoInstance,
// ErrNoWebhook.
func (d *Directory) Webhook(id int64) (Webhook, error) {
	s := d.scope(id)
	if s == nil || id == Global {
		return Webhook{}, ErrNoInstance
	}
	hook := s.webhook.Load()
	if hook == nil {
		return Webhook{}, ErrNoWebhook
	}
	return hook.clone(), nil
}

// Options returns the options of an instance's webhook or, with Global, of the
// global one. Errors: ErrNoInstance, or one that wraps store.ErrDamaged if they are
// unreadable; they may be set again or deleted.
func (d *Directory) Options(id int64) (Options, error) {
	s := d.scope(id)
	if s == nil {
		return Options{}, ErrNoInstance
	}
	o := s.chosen()
	if o.failed != nil {
		return Options{}, o.failed
	}
	return o.show(nil), nil
}

// firstOptions returns the options of a new instance.
func (d *Directory) firstOptions() keptOptions {
	o := defaultOptions()
	o.Durable = d.cfg.DurableDefault
	return o
}

// WebhookNow returns the destination that the instance's webhook is, enabled or not.
// Errors: ErrNoWebhook, or that the options are unreadable.
func (s *Scope) WebhookNow() (to event.Destination, err error) {
	hook, o := s.webhook.Load(), s.chosen()
	switch {
	case hook == nil:
		return to, ErrNoWebhook
	case o.failed != nil:
		return to, o.failed
	}
	return o.webhook(hook, s.d.cfg.Store.Now()), nil
}

// URLs returns the enabled webhooks in a data file that no program has open, by instance.
// It skips unreadable records. buckets and errors are those of store.ScanFile.
func URLs(path string, buckets []schema.Bucket) (map[int64]string, error) {
	urls := map[int64]string{}
	err := store.ScanFile(path, buckets, webhooks, func(_, v []byte) error {
		var hook Webhook
		if json.Unmarshal(v, &hook) == nil && hook.Enabled {
			urls[hook.InstanceID] = hook.URL
		}
		return nil
	})
	return urls, err
}
