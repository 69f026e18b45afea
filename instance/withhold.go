package instance

import (
	"context"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// leads returns the destinations of a scope by lane, enabled or not.
func (o *heldOptions) leads(id int64, e *entry, globalURL string) map[delivery.Lane]event.Destination {
	to := map[delivery.Lane]event.Destination{}
	if id == GlobalScope {
		if globalURL != "" {
			to[delivery.GlobalLane] = event.Destination{URL: globalURL, Headers: o.Headers}
		}
		return to
	}
	if hook := e.webhook.Load(); hook != nil {
		to[webhookLane(id)] = event.Destination{URL: hook.URL, Headers: o.Headers}
	}
	for i := range o.Endpoints {
		p := &o.Endpoints[i]
		to[endpointLane(id, p.ID)] = event.Destination{URL: p.URL, Headers: p.Headers}
	}
	return to
}

// withholdAll withholds credentials from changed destinations of a scope, in the commit
// that stores the options.
func (r *Registry) withholdAll(tx *store.Tx, id int64, e *entry, before, after *heldOptions) (ended []delivery.Ended, err error) {
	if r.cfg.Ledger == nil {
		return nil, nil
	}
	url := *r.globalURL.Load()
	was, now := before.leads(id, e, url), after.leads(id, e, url)
	for _, lane := range lanesOf(id, before, after) {
		if err == nil && (before.failed != nil || was[lane].Access() != now[lane].Access()) {
			var some []delivery.Ended
			some, err = r.withhold(tx, lane, now[lane])
			ended = append(ended, some...)
		}
	}
	return ended, err
}

// withhold withholds the credentials of one lane, except those made for to.
func (r *Registry) withhold(tx *store.Tx, lane delivery.Lane, to event.Destination) ([]delivery.Ended, error) {
	switch {
	case r.cfg.Ledger == nil || lane == delivery.BatchLane:
		return nil, nil
	case to.URL == "": // the destination is removed
		return r.cfg.Ledger.Withhold(tx, lane, 0)
	case lane == delivery.GlobalLane:
		return r.cfg.Ledger.WithholdGlobal(tx, to.Access())
	}
	return r.cfg.Ledger.Withhold(tx, lane, to.Access())
}

// freed resumes deliveries queued behind withheld ones, after the commit.
func (r *Registry) freed(ended []delivery.Ended) {
	if r.cfg.Ledger != nil {
		r.cfg.Ledger.Freed(ended)
	}
}

// withholdGlobal withholds credentials for a former global webhook. They are never sent
// to another one; if storing that fails, the next start does it.
func (r *Registry) withholdGlobal(ctx context.Context) {
	to := r.global.chosen().leads(GlobalScope, r.global, *r.globalURL.Load())[delivery.GlobalLane]
	if r.cfg.Ledger == nil || to.URL == "" || r.global.chosen().failed != nil {
		return
	}
	same := false
	err := r.cfg.Store.View(func(tx *store.Tx) (err error) {
		same, err = delivery.SameGlobal(tx, to.Access())
		return err
	})
	if err != nil || same {
		return
	}
	var ended []delivery.Ended
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		ended, err = r.cfg.Ledger.WithholdGlobal(tx, to.Access())
		return err
	})
	if err != nil {
		r.log.Warn("pairing codes for a former global webhook are not removed yet; they are not sent", "error", err)
		return
	}
	r.freed(ended)
}
