package instance

import (
	"context"
	"fmt"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// reportContact stores a change of a contact and publishes the stored contact.
func (r *Registry) reportContact(ctx context.Context, id int64, f event.Fact, c *event.ContactChange) error {
	if !r.cfg.SaveContacts {
		return nil
	}
	ids, ok := idsOf(c)
	if !ok {
		r.log.Debug("contact without a usable JID dropped", "instance_id", id)
		return nil
	}
	t, about := r.source(id).Writer(), r.events.About(*c)
	tell := func(stored *Contact) {
		switch f.Kind {
		case event.ContactsUpsert:
			t.Add(f.Kind, stored.upserted(), about, f.RequestID)
		case event.ContactsUpdate:
			t.Add(f.Kind, stored.updated(c.Source), about, f.RequestID)
		default: // stored, but not published
		}
	}
	if err := r.saveContact(ctx, id, ids, c, t, tell); err != nil {
		return err
	}
	t.PublishStored(ctx)
	return nil
}

// saveContact stores a change and calls tell with the contact as stored. A change without
// effect makes no commit, since the network repeats itself.
func (r *Registry) saveContact(ctx context.Context, id int64, ids contactIDs, c *event.ContactChange, t *delivery.Writer, tell func(*Contact)) error {
	var edit contactEdit
	err := r.cfg.Store.View(func(tx *store.Tx) (err error) {
		edit, err = editContact(tx, id, ids, c)
		return err
	})
	switch {
	case err == nil && !edit.changes():
		tell(edit.contact())
	case err == nil:
		err = t.Commit(ctx, func(tx *store.Tx) error {
			if !tx.Has(instances, store.Key(id)) {
				return ErrNotFound // deleted in the meantime
			}
			edit, err := editContact(tx, id, ids, c)
			if err == nil {
				err = edit.save(tx, id)
			}
			if err == nil {
				tell(edit.contact())
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("store a contact of instance %d: %w", id, err)
	}
	return nil
}
