package webhooks

import (
	"context"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// leads returns the destinations of a scope by lane, enabled or not.
func (o *heldOptions) leads(id int64, s *Scope, globalURL string) map[delivery.Lane]event.Destination {
	to := map[delivery.Lane]event.Destination{}
	if id == Global {
		if globalURL != "" {
			to[delivery.GlobalLane] = event.Destination{URL: globalURL, Headers: o.Headers}
		}
		return to
	}
	if hook := s.webhook.Load(); hook != nil {
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
func (e *Editor) withholdAll(tx *store.Tx, id int64, s *Scope, before, after *heldOptions) (ended []delivery.Ended, err error) {
	if e.cfg.Ledger == nil {
		return nil, nil
	}
	url := *e.globalURL.Load()
	was, now := before.leads(id, s, url), after.leads(id, s, url)
	for _, lane := range lanesOf(id, before, after) {
		if err == nil && (before.failed != nil || was[lane].Access() != now[lane].Access()) {
			var some []delivery.Ended
			some, err = e.withhold(tx, lane, now[lane])
			ended = append(ended, some...)
		}
	}
	return ended, err
}

// withhold withholds the credentials of one lane, except those made for to.
func (e *Editor) withhold(tx *store.Tx, lane delivery.Lane, to event.Destination) ([]delivery.Ended, error) {
	switch {
	case e.cfg.Ledger == nil || lane == delivery.BatchLane:
		return nil, nil
	case to.URL == "": // the destination is removed
		return e.cfg.Ledger.Withhold(tx, lane, 0)
	case lane == delivery.GlobalLane:
		return e.cfg.Ledger.WithholdGlobal(tx, to.Access())
	}
	return e.cfg.Ledger.Withhold(tx, lane, to.Access())
}

// freed resumes deliveries queued behind withheld ones, after the commit.
func (e *Editor) freed(ended []delivery.Ended) {
	if e.cfg.Ledger != nil {
		e.cfg.Ledger.Freed(ended)
	}
}

// withholdGlobal withholds credentials for a former global webhook. They are never sent
// to another one; if storing that fails, the next start does it.
func (e *Editor) withholdGlobal(ctx context.Context) {
	to := e.global.chosen().leads(Global, e.global, *e.globalURL.Load())[delivery.GlobalLane]
	if e.cfg.Ledger == nil || to.URL == "" || e.global.chosen().failed != nil {
		return
	}
	same := false
	err := e.Directory.cfg.Store.View(func(tx *store.Tx) (err error) {
		same, err = delivery.SameGlobal(tx, to.Access())
		return err
	})
	if err != nil || same {
		return
	}
	var ended []delivery.Ended
	err = e.Directory.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		ended, err = e.cfg.Ledger.WithholdGlobal(tx, to.Access())
		return err
	})
	if err != nil {
		e.log.Warn("pairing codes for a former global webhook are not removed yet; they are not sent", "error", err)
		return
	}
	e.freed(ended)
}
