package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"postern/event"
	"postern/instance/pace"
	"postern/instance/webhooks"
	"postern/store"
)

// Export is an exported instance: its records as stored, null where there is none.
type Export struct {
	Record   json.RawMessage `json:"record"`
	Webhook  json.RawMessage `json:"webhook,omitempty"`
	Options  json.RawMessage `json:"options,omitempty"`
	Proxy    json.RawMessage `json:"proxy,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
	Limits   *pace.Limits    `json:"limits,omitempty"`

	Departures [][]byte `json:"departures,omitempty"` // what counts in the limits; see pace.Departures
}

// ErrMoved rejects connecting an instance that has moved: both copies would use the same
// keys.
var ErrMoved = errors.New("the instance has moved to another Postern")

// ErrNotMoved reports that there is no export to undo.
var ErrNotMoved = errors.New("the instance has not moved to another Postern, or was marked by another export")

// ErrAccountExists rejects a second instance with the keys of an account.
var ErrAccountExists = errors.New("an instance has the account already")

// movedText is the status text of a moved instance.
const movedText = "moved to another Postern; `postern instance export --undo` takes it back when it never connected there"

// HasMoved reports whether an instance has moved to another Postern.
func (r Record) HasMoved() bool { return !r.MovedAt.IsZero() }

// Export reads an instance.
func (r *Registry) Export(id int64) (e Export, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) (err error) {
		for bucket, to := range map[string]*json.RawMessage{
			instances: &e.Record, proxies: &e.Proxy, settingsBucket: &e.Settings,
		} {
			raw, err := tx.Get(bucket, store.Key(id))
			if err != nil {
				return fmt.Errorf("%s of instance %d: %w", bucket, id, err)
			}
			*to = raw
		}
		if e.Webhook, e.Options, err = webhooks.StoredRecords(tx, id); err != nil {
			return fmt.Errorf("webhook of instance %d: %w", id, err)
		}
		if e.Limits, err = pace.Stored(tx, id); err == nil {
			e.Departures, err = pace.Departures(tx, id)
		}
		return err
	})
	if err == nil && e.Record == nil {
		err = ErrNotFound
	}
	return e, err
}

// Move marks an instance as moved, for the request by: it never connects while marked.
// Move publishes that it is not connected. An existing mark remains unchanged. Errors:
// ErrNotFound.
func (r *Registry) Move(ctx context.Context, id int64, by string) error {
	t := r.source(id).Writer()
	_, moved, err := r.changeAndTell(ctx, id, func(rec *Record) bool {
		if rec.HasMoved() {
			return false
		}
		rec.Status, rec.Reason, rec.LastError, rec.MovedAt, rec.MovedBy = event.Offline, 0, movedText, rec.UpdatedAt, by
		return true
	}, t, func(rec *Record) {
		if !rec.HasMoved() || r.cfg.Publish == nil {
			return
		}
		u := event.ConnectionUpdate{Type: event.TypeDisconnected, Connection: event.ConnectionClose, Message: movedText}
		t.Add(event.ConnectionUpdated, r.withLast(id, rec, u), r.events.About(u), by)
	})
	if err == nil && moved && r.cfg.Publish != nil {
		t.PublishStored(ctx)
	}
	return err
}

// MoveBack removes the mark of Move; a non-empty by must be the request that set it.
// Errors: ErrNotFound, or ErrNotMoved if there is no such mark.
func (r *Registry) MoveBack(ctx context.Context, id int64, by string) error {
	_, changed, err := r.change(ctx, id, func(rec *Record) bool {
		if !rec.HasMoved() || by != "" && rec.MovedBy != by {
			return false
		}
		rec.Status, rec.Reason, rec.LastError, rec.MovedAt, rec.MovedBy = event.Offline, 0, "", event.Time{}, ""
		return true
	})
	if err == nil && !changed {
		err = ErrNotMoved
	}
	return err
}
