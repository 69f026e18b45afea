package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// scope returns the entry of a scope, nil if there is no such instance.
func (r *Registry) scope(id int64) *entry {
	if id == GlobalScope {
		return r.global
	}
	return r.entry(id)
}

// Options returns the options of an instance's webhook or, with GlobalScope, of the
// global one. Errors: ErrNotFound, or one that wraps store.ErrDamaged if they are
// unreadable; they may be set again or deleted.
func (r *Registry) Options(id int64) (Options, error) {
	e := r.scope(id)
	if e == nil {
		return Options{}, ErrNotFound
	}
	o := e.chosen()
	if o.failed != nil {
		return Options{}, o.failed
	}
	return o.show(nil), nil
}

// PutOptions replaces the options of an instance's webhook, which need not exist, or with
// GlobalScope of the global one, and returns them with the secrets it created. They apply
// from the commit on. Errors: ErrNotFound, ErrCodes, or a RuleError wrapping
// ErrInvalidWebhook, with nothing changed.
func (r *Registry) PutOptions(ctx context.Context, id int64, c OptionsChange) (Options, error) {
	for {
		seen, err := r.clearAdded(ctx, id, c)
		if err != nil {
			return Options{}, err
		}
		o, err := r.replaceOptions(ctx, id, func(before *heldOptions) (o keptOptions, fresh map[string]bool, err error) {
			if before != seen && len(before.added(id, c)) > 0 {
				return o, nil, errOvertaken
			}
			return r.apply(c, &before.keptOptions)
		})
		if !errors.Is(err, errOvertaken) {
			return o, err
		}
	}
}

// errOvertaken reports a concurrent change of the options; lanes of endpoints that it
// removed may not be cleared yet.
var errOvertaken = errors.New("the options changed meanwhile")

// DropOptions resets the options to the defaults. Errors: ErrNotFound.
func (r *Registry) DropOptions(ctx context.Context, id int64) (Options, error) {
	return r.replaceOptions(ctx, id, func(*heldOptions) (keptOptions, map[string]bool, error) { return r.firstOptions(), nil, nil })
}

// firstOptions returns the options of a new instance.
func (r *Registry) firstOptions() keptOptions {
	o := defaultOptions()
	o.Durable = r.cfg.DurableDefault
	return o
}

// newOptions returns the options to store with a new instance, nil if none.
func (r *Registry) newOptions() *heldOptions {
	if !r.cfg.DurableDefault {
		return nil
	}
	return hold(r.firstOptions())
}

// RotateSecret creates a new secret for the webhook or one of its endpoints, and returns
// the options with it. Deliveries are also signed with the former secret for
// SecretOverlap. Errors: ErrNotFound, ErrNoEndpoint, ErrNotSigned, or one that wraps
// store.ErrDamaged.
func (r *Registry) RotateSecret(ctx context.Context, id int64, endpoint string) (Options, error) {
	if _, err := r.Options(id); err != nil {
		return Options{}, err
	}
	return r.replaceOptions(ctx, id, func(before *heldOptions) (o keptOptions, fresh map[string]bool, err error) {
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
		former.Until = event.At(r.cfg.Store.Now().Add(SecretOverlap))
		whose.Secrets = []signingSecret{made, former}
		return o, map[string]bool{made.Text: true}, nil
	})
}

// replaceOptions stores the result of change and reports the affected lanes.
func (r *Registry) replaceOptions(ctx context.Context, id int64, change func(before *heldOptions) (o keptOptions, fresh map[string]bool, err error)) (Options, error) {
	e := r.scope(id)
	if e == nil {
		return Options{}, ErrNotFound
	}
	e.change.Lock()
	defer e.change.Unlock()
	if e.gone {
		return Options{}, ErrNotFound
	}
	before := e.chosen()
	next, fresh, err := change(before)
	if err != nil {
		return Options{}, err
	}
	e.changing.Store(true)
	defer e.changing.Store(false)
	after := hold(next)
	var ended []delivery.Ended
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		if ended, err = r.withholdAll(tx, id, e, before, after); err != nil {
			return err
		}
		return store.PutJSON(tx, optionsBucket, store.Key(id), next)
	})
	if err != nil {
		return Options{}, fmt.Errorf("webhook options of instance %d: %w", id, err)
	}
	e.options.Store(after)
	r.freed(ended)
	r.tellLanes(lanesOf(id, before, after))
	return next.show(fresh), nil
}

// clearAdded cancels pending events of removed endpoints before new endpoints reuse their
// ids. It returns the options that it used.
func (r *Registry) clearAdded(ctx context.Context, id int64, c OptionsChange) (seen *heldOptions, err error) {
	e := r.scope(id)
	if e == nil {
		return nil, ErrNotFound
	}
	seen = e.chosen()
	if added := seen.added(id, c); len(added) > 0 && r.cfg.ClearLanes != nil {
		err = r.cfg.ClearLanes(store.Along(ctx, nil), added) // events of this change belong to a later commit
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

// tellLanes reports lanes whose destinations may have changed.
func (r *Registry) tellLanes(lanes []delivery.Lane) {
	if r.cfg.OnLanes != nil {
		r.cfg.OnLanes(lanes)
	}
}

// lanesOf returns all lanes affected by the options of a scope.
func lanesOf(id int64, all ...*heldOptions) []delivery.Lane {
	if id == GlobalScope {
		return []delivery.Lane{delivery.GlobalLane, delivery.BatchLane}
	}
	lanes := []delivery.Lane{webhookLane(id)}
	for _, o := range all {
		for i := range o.Endpoints {
			if lane := endpointLane(id, o.Endpoints[i].ID); !slices.Contains(lanes, lane) {
				lanes = append(lanes, lane)
			}
		}
	}
	return lanes
}

func webhookLane(id int64) delivery.Lane {
	return delivery.Lane{Flow: delivery.FlowInstance, Instance: id, Target: event.TargetWebhook}
}

func endpointLane(id int64, endpoint string) delivery.Lane {
	return delivery.Lane{Flow: delivery.FlowInstance, Instance: id, Target: event.TargetEndpoint, Endpoint: endpoint}
}
