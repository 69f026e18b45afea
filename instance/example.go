package instance

import (
	"fmt"
	"time"

	"postern/event"
)

// Example returns an example of an event as this instance's webhook would get
// it, whatever its flags and Enabled are. Errors: ErrNotFound, ErrNoWebhook.
func (r *Registry) Example(id int64, kind event.Kind, requestID string) (event.Notice, error) {
	hook, err := r.Webhook(id)
	if err != nil {
		return event.Notice{}, err
	}
	rec, err := r.ByID(id)
	if err != nil {
		return event.Notice{}, err
	}
	body, err := event.MarshalInstance(kind, rec.Snapshot(), event.ExampleData(kind), time.Now())
	if err != nil {
		return event.Notice{}, fmt.Errorf("example of %s: %w", kind, err)
	}
	return event.Notice{
		Kind: kind, Body: body, InstanceID: id, InstanceName: rec.Name, OwnerJID: rec.OwnerJID,
		RequestID: requestID, URLs: []string{hook.URL},
	}, nil
}
