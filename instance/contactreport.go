package instance

import (
	"context"
	"fmt"

	"postern/event"
	"postern/store"
)

// reportContact stores what was learned about a contact and publishes what is
// stored.
func (r *Registry) reportContact(ctx context.Context, id int64, f event.Fact, c *event.ContactChange) error {
	if !r.cfg.SaveContacts {
		return nil
	}
	ids, ok := idsOf(c)
	if !ok {
		r.log.Debug("contact without a usable JID dropped", "instance_id", id)
		return nil
	}
	stored, err := r.saveContact(ctx, id, ids, c)
	if err != nil {
		return err
	}
	switch f.Kind {
	case event.ContactsUpsert:
		r.announce(id, f.Kind, stored.upserted(), f.RequestID)
	case event.ContactsUpdate:
		r.announce(id, f.Kind, stored.updated(c.Source), f.RequestID)
	default: // stored, and not told
	}
	return nil
}

// saveContact stores a change and returns the contact as it is stored then.
// What is known already costs no commit: the network repeats itself.
func (r *Registry) saveContact(ctx context.Context, id int64, ids contactIDs, c *event.ContactChange) (Contact, error) {
	if r.entry(id) == nil {
		return Contact{}, ErrNotFound
	}
	var edit contactEdit
	err := r.cfg.Store.View(func(tx *store.Tx) (err error) {
		edit, err = editContact(tx, id, ids, c)
		return err
	})
	if err == nil && edit.changes() {
		err = r.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
			if !tx.Has(instances, store.Key(id)) {
				return ErrNotFound // deleted meanwhile
			}
			if edit, err = editContact(tx, id, ids, c); err != nil {
				return err
			}
			return edit.save(tx, id)
		})
	}
	if err != nil {
		return Contact{}, fmt.Errorf("store a contact of instance %d: %w", id, err)
	}
	return *edit.contact(), nil
}
