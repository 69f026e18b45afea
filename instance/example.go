package instance

import (
	"fmt"

	"github.com/google/uuid"

	"postern/event"
)

// Example returns an example event as this instance's webhook would receive it, with the
// headers and the signature of its options, regardless of filters and Enabled. Errors:
// ErrNotFound, ErrNoWebhook, or that the options are unreadable.
func (r *Registry) Example(id int64, kind event.Kind, requestID string) (event.Notice, error) {
	e := r.entry(id)
	if e == nil {
		return event.Notice{}, ErrNotFound
	}
	to, err := e.WebhookNow()
	if err != nil {
		return event.Notice{}, err
	}
	return r.ExampleFor(id, kind, requestID, to)
}

// ExampleFor is Example for a destination. Id 0 stands for an instance that does not exist.
func (r *Registry) ExampleFor(id int64, kind event.Kind, requestID string, to event.Destination) (event.Notice, error) {
	rec := Record{Name: "example", Status: event.Online}
	if id != 0 {
		var err error
		if rec, err = r.ByID(id); err != nil {
			return event.Notice{}, err
		}
	}
	body, err := event.MarshalInstance(kind, rec.Snapshot(), event.ExampleData(kind), r.cfg.Store.Now())
	if err != nil {
		return event.Notice{}, fmt.Errorf("example of %s: %w", kind, err)
	}
	return event.Notice{
		Kind: kind, Body: body, InstanceID: id, InstanceName: rec.Name, OwnerJID: rec.OwnerJID,
		RequestID: requestID, ID: uuid.New(), To: []event.Destination{to},
	}, nil
}
