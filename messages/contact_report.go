package messages

import (
	"context"
	"fmt"

	"postern/delivery/publish"
	"postern/event"
	"postern/store"
)

// ReportContact stores a change of a contact and publishes the stored contact.
func (a *Archive) ReportContact(ctx context.Context, src publish.Source, f event.Fact, c *event.ContactChange) error {
	if !a.cfg.SaveContacts {
		return nil
	}
	ids, ok := idsOf(c)
	if !ok {
		a.log.Debug("contact without a usable JID dropped", "instance_id", src.ID)
		return nil
	}
	w, about := src.Writer(), src.About(*c)
	tell := func(stored *Contact) {
		switch f.Kind {
		case event.ContactsUpsert:
			w.Add(f.Kind, stored.upserted(), about, f.RequestID)
		case event.ContactsUpdate:
			w.Add(f.Kind, stored.updated(c.Source), about, f.RequestID)
		default: // stored, but not published
		}
	}
	if err := a.saveContact(ctx, src.ID, ids, c, w, tell); err != nil {
		return err
	}
	w.PublishStored(ctx)
	return nil
}

// saveContact stores a change and calls tell with the contact as stored. A change without
// effect makes no commit, since the network repeats itself.
func (a *Archive) saveContact(ctx context.Context, id int64, ids contactIDs, c *event.ContactChange, w *publish.Writer, tell func(*Contact)) error {
	var edit contactEdit
	err := a.cfg.Store.View(func(tx *store.Tx) (err error) {
		edit, err = editContact(tx, id, ids, c)
		return err
	})
	switch {
	case err == nil && !edit.changes():
		tell(edit.contact())
	case err == nil:
		err = w.Commit(ctx, func(tx *store.Tx) error {
			if err := a.cfg.Owner(tx, id); err != nil {
				return err // deleted in the meantime
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
