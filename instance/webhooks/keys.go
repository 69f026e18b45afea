package webhooks

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
	InstanceID   int64        `json:"instanceId" doc:"The instance whose events it receives." example:"1"`
	InstanceName string       `json:"instanceName" doc:"The name of that instance." example:"$name"` // empty in this package
	Target       event.Target `json:"target" doc:"The instance's webhook, or an endpoint of its options." example:"webhook" rules:"enum=webhook|endpoint"`
	EndpointID   string       `json:"endpointId,omitempty" doc:"The endpoint's id; absent for the webhook." example:"crm"`
	URL          string       `json:"url" doc:"Where it goes, without the query." example:"https://example.org/hook"`
}

// OfKey returns the enabled receivers that a scoped key last changed, by instance.
func (d *Directory) OfKey(key uuid.UUID) (all []KeyReceiver) {
	d.mu.RLock()
	ids := slices.Sorted(maps.Keys(d.scopes))
	d.mu.RUnlock()
	for _, id := range ids {
		if s := d.scope(id); s != nil {
			all = append(all, s.ofKey(key)...)
		}
	}
	return all
}

func (s *Scope) ofKey(key uuid.UUID) (all []KeyReceiver) {
	if hook := s.webhook.Load(); hook != nil && hook.Enabled && hook.Key == key {
		all = append(all, KeyReceiver{InstanceID: s.id, Target: event.TargetWebhook, URL: delivery.ShownURL(hook.URL)})
	}
	if o := s.chosen(); o.Key == key {
		for i := range o.Endpoints {
			if p := &o.Endpoints[i]; p.Enabled {
				all = append(all, KeyReceiver{InstanceID: s.id, Target: event.TargetEndpoint, EndpointID: p.ID, URL: delivery.ShownURL(p.URL)})
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
func (e *Editor) DisableOfKey(ctx context.Context, key uuid.UUID) (all []KeyReceiver, err error) {
	var ids []int64
	for _, receiver := range e.OfKey(key) {
		ids = append(ids, receiver.InstanceID)
	}
	for some := range slices.Chunk(slices.Compact(ids), keyStep) {
		done, err := e.disableSome(ctx, key, some)
		if all = append(all, done...); err != nil {
			return all, fmt.Errorf("disable the webhooks of the key %s: %w", key, err)
		}
	}
	return all, nil
}

// disableSome disables those of some instances, in the given order, in one commit.
func (e *Editor) disableSome(ctx context.Context, key uuid.UUID, ids []int64) (done []KeyReceiver, err error) {
	var all []disabled
	for _, id := range ids {
		s := e.scope(id)
		if s == nil {
			continue
		}
		s.change.Lock()
		defer s.change.Unlock()
		if some := s.ofKey(key); !s.gone && len(some) > 0 {
			all = append(all, s.disable(id, some))
			done = append(done, some...)
		}
	}
	for _, d := range all {
		d.s.changing.Store(d.options)
		defer d.s.changing.Store(nil)
	}
	err = e.Directory.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		for _, d := range all {
			if e.cfg.Owner(tx, d.id) == nil { // else deleted in the meantime
				err = errors.Join(err, d.put(tx))
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if d.hook != nil {
			d.s.webhook.Store(d.hook)
			e.tellChange(d.id)
		}
		if d.options != nil {
			d.s.options.Store(d.options)
		}
		e.tellLanes(lanesOf(d.id, d.s.chosen()))
	}
	return done, nil
}

// disabled is what replaces an instance's webhook and options; nil: unchanged.
type disabled struct {
	id      int64
	s       *Scope
	hook    *keptWebhook
	options *heldOptions
}

// disable returns the webhook and options of an instance with some receivers disabled.
func (s *Scope) disable(id int64, some []KeyReceiver) disabled {
	d := disabled{id: id, s: s}
	for _, receiver := range some {
		if receiver.Target == event.TargetWebhook {
			hook := *s.webhook.Load()
			hook.Enabled = false
			d.hook = &hook
			continue
		}
		if d.options == nil {
			kept := s.chosen().keptOptions
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
