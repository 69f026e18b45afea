package instance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// KeyReceiver is an enabled receiver of an instance's events that a scoped key last
// changed: the URL of its webhook, or one of its endpoints. A change of options counts
// for all endpoints.
type KeyReceiver struct {
	InstanceID   int64        `json:"instanceId"`
	InstanceName string       `json:"instanceName"`
	Target       event.Target `json:"target"`
	EndpointID   string       `json:"endpointId,omitempty"` // if an endpoint
	URL          string       `json:"url"`                  // without query
}

// OfKey returns the enabled receivers that a scoped key last changed, by instance.
func (r *Registry) OfKey(key uuid.UUID) (all []KeyReceiver) {
	r.mu.RLock()
	ids := slices.Sorted(maps.Keys(r.byID))
	r.mu.RUnlock()
	for _, id := range ids {
		if e := r.entry(id); e != nil {
			all = append(all, e.ofKey(key)...)
		}
	}
	return all
}

func (e *entry) ofKey(key uuid.UUID) (all []KeyReceiver) {
	rec := e.record.Load()
	if hook := e.webhook.Load(); hook != nil && hook.Enabled && hook.Key == key {
		all = append(all, KeyReceiver{rec.ID, rec.Name, event.TargetWebhook, "", delivery.ShownURL(hook.URL)})
	}
	if o := e.chosen(); o.Key == key {
		for i := range o.Endpoints {
			if p := &o.Endpoints[i]; p.Enabled {
				all = append(all, KeyReceiver{rec.ID, rec.Name, event.TargetEndpoint, p.ID, delivery.ShownURL(p.URL)})
			}
		}
	}
	return all
}

// keyStep is the number of instances that one commit changes.
const keyStep = 100

// DisableOfKey disables the receivers of OfKey, many instances per commit, and returns
// those that it disabled. After an error some may be disabled; another call disables the
// rest.
func (r *Registry) DisableOfKey(ctx context.Context, key uuid.UUID) (all []KeyReceiver, err error) {
	var ids []int64
	for _, receiver := range r.OfKey(key) {
		ids = append(ids, receiver.InstanceID)
	}
	for some := range slices.Chunk(slices.Compact(ids), keyStep) {
		done, err := r.disableSome(ctx, key, some)
		if all = append(all, done...); err != nil {
			return all, fmt.Errorf("disable the webhooks of the key %s: %w", key, err)
		}
	}
	return all, nil
}

// disableSome disables those of some instances, in the given order, in one commit.
func (r *Registry) disableSome(ctx context.Context, key uuid.UUID, ids []int64) (done []KeyReceiver, err error) {
	var all []disabled
	for _, id := range ids {
		e := r.entry(id)
		if e == nil {
			continue
		}
		e.change.Lock()
		defer e.change.Unlock()
		if some := e.ofKey(key); !e.gone && len(some) > 0 {
			all = append(all, e.disable(id, some))
			done = append(done, some...)
		}
	}
	for _, d := range all {
		d.e.changing.Store(true)
		defer d.e.changing.Store(false)
	}
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		for _, d := range all {
			err = errors.Join(err, d.put(tx))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if d.hook != nil {
			d.e.webhook.Store(d.hook)
			r.tellChange(d.id, d.e.record.Load().Name, false)
		}
		if d.options != nil {
			d.e.options.Store(d.options)
		}
		r.tellLanes(lanesOf(d.id, d.e.chosen()))
	}
	return done, nil
}

// disabled is what replaces an instance's webhook and options; nil: unchanged.
type disabled struct {
	id      int64
	e       *entry
	hook    *keptWebhook
	options *heldOptions
}

// disable returns the webhook and options of an instance with some receivers disabled.
func (e *entry) disable(id int64, some []KeyReceiver) disabled {
	d := disabled{id: id, e: e}
	for _, receiver := range some {
		if receiver.Target == event.TargetWebhook {
			hook := *e.webhook.Load()
			hook.Enabled = false
			d.hook = &hook
			continue
		}
		if d.options == nil {
			kept := e.chosen().keptOptions
			kept.Endpoints = slices.Clone(kept.Endpoints)
			d.options = hold(kept)
		}
		d.options.endpoint(receiver.EndpointID).Enabled = false
	}
	return d
}

// put stores it.
func (d *disabled) put(tx *store.Tx) (err error) {
	if d.hook != nil {
		d.hook.UpdatedAt = event.At(tx.Now())
		err = store.PutJSON(tx, webhooks, store.Key(d.id), d.hook)
	}
	if d.options != nil {
		err = errors.Join(err, store.PutJSON(tx, optionsBucket, store.Key(d.id), d.options.keptOptions))
	}
	return err
}
