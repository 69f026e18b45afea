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
	rec := *e.record.Load()
	body, err := event.MarshalInstance(kind, rec.Snapshot(), event.ExampleData(kind), r.cfg.Store.Now())
	if err != nil {
		return event.Notice{}, fmt.Errorf("example of %s: %w", kind, err)
	}
	return event.Notice{
		Kind: kind, Body: body, InstanceID: id, InstanceName: rec.Name, OwnerJID: rec.OwnerJID,
		RequestID: requestID, ID: uuid.New(), To: []event.Destination{to},
	}, nil
}
