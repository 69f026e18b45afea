package instance

import (
	"context"

	"github.com/google/uuid"

	"postern/instance/webhooks"
)

// KeyReceiver is [webhooks.KeyReceiver] with the name of its instance.
type KeyReceiver = webhooks.KeyReceiver

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
func (r *Registry) named(all []KeyReceiver) (named []KeyReceiver) {
	for _, one := range all {
		if rec, err := r.ByID(one.InstanceID); err == nil {
			one.InstanceName = rec.Name
			named = append(named, one)
		}
	}
	return named
}
