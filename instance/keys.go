package instance

import (
	"context"

	"github.com/google/uuid"

	"postern/event"
	"postern/instance/webhooks"
)

// KeyReceiver is an enabled receiver of an instance's events that a scoped key last
// changed: the URL of its webhook, or one of its endpoints. A change of options counts
// for all endpoints.
type KeyReceiver struct {
	InstanceID   int64        `json:"instanceId" doc:"The instance whose events it receives." example:"1"`
	InstanceName string       `json:"instanceName" doc:"The name of that instance." example:"$name"`
	Target       event.Target `json:"target" doc:"The instance's webhook, or an endpoint of its options." example:"webhook" rules:"enum=webhook|endpoint"`
	EndpointID   string       `json:"endpointId,omitempty" doc:"The endpoint's id; absent for the webhook." example:"crm"`
	URL          string       `json:"url" doc:"Where it goes, without the query." example:"https://example.org/hook"`
}

// OfKey returns the enabled receivers that a scoped key last changed, by instance.
func (r *Registry) OfKey(key uuid.UUID) []KeyReceiver { return r.named(r.hooks.OfKey(key)) }

// DisableOfKey disables the receivers of OfKey, many instances per commit, and returns
// those that it disabled. After an error some may be disabled; another call disables the
// rest.
func (r *Registry) DisableOfKey(ctx context.Context, key uuid.UUID) ([]KeyReceiver, error) {
	done, err := r.hooks.DisableOfKey(ctx, key)
	return r.named(done), err
}

// named adds the names of the instances.
func (r *Registry) named(all []webhooks.KeyReceiver) (named []KeyReceiver) {
	for _, one := range all {
		if rec, err := r.ByID(one.InstanceID); err == nil {
			named = append(named, KeyReceiver{one.InstanceID, rec.Name, one.Target, one.EndpointID, one.URL})
		}
	}
	return named
}
