package messages

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"postern/event"
	"postern/store"
)

// Limits of names and JIDs, which come from strangers.
const (
	maxContactName = 1000 // characters; longer names are truncated
	maxContactJID  = 255  // bytes; longer texts are not JIDs
)

// Contact is a stored contact of an account. Unknown names are empty.
type Contact struct {
	ID           int64      `json:"id" doc:"The contact's id here." example:"7"`
	JID          string     `json:"jid"`           // the phone JID if known, else the LID
	LID          string     `json:"lid,omitempty"` // empty when unknown
	PushName     string     `json:"pushName,omitempty"`
	BusinessName string     `json:"businessName,omitempty"`
	FullName     string     `json:"fullName,omitempty" doc:"Its name in the account's own address book." example:"Ada Lovelace"`
	CreatedAt    event.Time `json:"createdAt"`
	UpdatedAt    event.Time `json:"updatedAt"`
}

// upserted returns the contact as a contacts.upsert payload.
func (c *Contact) upserted() event.ContactUpsert {
	return event.ContactUpsert{
		ID: c.ID, RemoteJID: c.JID, LID: event.OrNull(c.LID), PushName: event.OrNull(cmp.Or(c.PushName, c.FullName)),
		Action: event.ContactUpserted,
	}
}

// updated returns the contact as contacts.update payloads. They include the changed name
// even if it was removed, and the other name if known.
func (c *Contact) updated(source event.ContactSource) []event.ContactUpdate {
	u := event.ContactUpdate{
		ID: c.ID, RemoteJID: c.JID, LID: event.OrNull(c.LID), PushName: event.OrNull(c.PushName), BusinessName: event.OrNull(c.BusinessName),
		Action: event.ContactUpdated, Source: cmp.Or(source, event.SourcePushName),
	}
	if source == event.SourceBusinessName {
		u.BusinessName = &c.BusinessName
	} else {
		u.PushName = &c.PushName
	}
	return []event.ContactUpdate{u}
}

// contactIDs are the two JIDs of a contact in a change, each empty if the change does not
// have it. A contact may appear first under one and later under the other.
type contactIDs struct{ phone, lid string }

// idsOf extracts the JIDs of a change. ok is false if none is usable for a lookup.
func idsOf(c *event.ContactChange) (ids contactIDs, ok bool) {
	ids = contactIDs{c.JID, c.LID}
	if strings.HasSuffix(c.JID, "@lid") {
		ids = contactIDs{"", c.JID}
	}
	return ids, ids.phone+ids.lid != "" && Plausible(ids.phone) && Plausible(ids.lid)
}

// Plausible reports whether a text can be a JID or a message id. Both are parts of store
// keys, where a zero byte terminates them.
func Plausible(jid string) bool {
	return len(jid) <= maxContactJID && utf8.ValidString(jid) && !strings.Contains(jid, "\x00")
}

// contactEdit is the effect of a change: the affected records before and after. The last
// of after is the contact itself, with id 0 if it is new.
type contactEdit struct{ before, after []Contact }

func (e *contactEdit) contact() *Contact { return &e.after[len(e.after)-1] }

func (e *contactEdit) changes() bool { return !slices.Equal(e.before, e.after) }

// editContact finds the contact of a change and applies the change, without writing.
//
// The LID identifies the account; a phone number can pass to another account. So two
// records with the same LID, or without LIDs that differ, are one contact, and a number
// that appears with a new LID is removed from its previous owner.
func editContact(tx *store.Tx, instance int64, ids contactIDs, c *event.ContactChange) (contactEdit, error) {
	var e contactEdit
	byPhone, err := contactByJID(tx, instance, ids.phone)
	if err != nil {
		return e, err
	}
	byLID, err := contactByJID(tx, instance, ids.lid)
	if err != nil {
		return e, err
	}
	if byPhone != nil && ids.lid != "" && byPhone.LID != "" && byPhone.LID != ids.lid {
		former := *byPhone
		former.JID = former.LID
		e.before, e.after = append(e.before, *byPhone), append(e.after, former)
		byPhone = nil
	}
	var found Contact
	switch {
	case byPhone != nil && byLID != nil && byPhone.ID != byLID.ID:
		e.before = append(e.before, *byPhone, *byLID)
		found = merged(*byPhone, *byLID)
	case byPhone != nil || byLID != nil:
		found = *cmp.Or(byLID, byPhone)
		e.before = append(e.before, found)
	}
	found.learn(ids, c)
	e.after = append(e.after, found)
	return e, nil
}

// merged merges two records of one contact: the lower id and the more recently stored
// names remain.
func merged(a, b Contact) Contact {
	if a.UpdatedAt.Before(b.UpdatedAt.Time) {
		a, b = b, a
	}
	a.ID = min(a.ID, b.ID)
	a.PushName = cmp.Or(a.PushName, b.PushName)
	a.BusinessName = cmp.Or(a.BusinessName, b.BusinessName)
	a.FullName = cmp.Or(a.FullName, b.FullName)
	if b.CreatedAt.Before(a.CreatedAt.Time) {
		a.CreatedAt = b.CreatedAt
	}
	return a
}

func (c *Contact) learn(ids contactIDs, change *event.ContactChange) {
	c.LID = cmp.Or(ids.lid, c.LID)
	c.JID = cmp.Or(ids.phone, c.JID, c.LID)
	for _, name := range []struct {
		stored *string
		given  *string
	}{{&c.PushName, change.PushName}, {&c.BusinessName, change.BusinessName}, {&c.FullName, change.FullName}} {
		if name.given != nil {
			*name.stored = clip(*name.given)
		}
	}
}

// clip repairs a name's encoding and truncates it to the stored length.
func clip(name string) string {
	const most = maxContactName * utf8.UTFMax
	if len(name) > most {
		name = name[:most] // repairing a 10 MB name in full would be slow
	}
	name = strings.ToValidUTF8(name, "\uFFFD")
	count := 0
	for at := range name {
		if count++; count > maxContactName {
			return name[:at]
		}
	}
	return name
}

// contactByJID returns the contact with that phone JID or LID, nil if there is none. A
// damaged contact has only its id.
func contactByJID(tx *store.Tx, instance int64, jid string) (*Contact, error) {
	if jid == "" {
		return nil, nil
	}
	raw, err := tx.Get(contactJIDs, store.Key(instance, jid))
	if raw == nil || err != nil {
		return nil, unlessDamaged(err)
	}
	id := store.Number(raw)
	c, _, err := store.GetJSON[Contact](tx, contacts, store.Key(instance, id))
	if err := unlessDamaged(err); err != nil {
		return nil, err
	}
	c.ID = id
	return &c, nil
}

func unlessDamaged(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		return nil // counted and logged by the store
	}
	return err
}

// save stores the edit and sets the times and the id of a new contact.
func (e *contactEdit) save(tx *store.Tx, instance int64) error {
	for _, c := range e.before {
		if err := deleteContact(tx, instance, &c); err != nil {
			return err
		}
	}
	for i := range e.after {
		if err := e.after[i].put(tx, instance); err != nil {
			return err
		}
	}
	return nil
}

func deleteContact(tx *store.Tx, instance int64, c *Contact) error {
	for _, jid := range c.jids() {
		if err := tx.Delete(contactJIDs, store.Key(instance, jid)); err != nil {
			return err
		}
	}
	return tx.Delete(contacts, store.Key(instance, c.ID))
}

func (c *Contact) put(tx *store.Tx, instance int64) error {
	if c.ID == 0 {
		id, err := tx.NextID(contacts)
		if err != nil {
			return err
		}
		c.ID = int64(id)
	}
	c.UpdatedAt = event.At(tx.Now())
	if c.CreatedAt.IsZero() {
		c.CreatedAt = c.UpdatedAt
	}
	for _, jid := range c.jids() {
		if err := tx.Put(contactJIDs, store.Key(instance, jid), store.Key(c.ID)); err != nil {
			return err
		}
	}
	return store.PutJSON(tx, contacts, store.Key(instance, c.ID), c)
}

// jids returns the index keys of the contact.
func (c *Contact) jids() (all []string) {
	for _, jid := range []string{c.JID, c.LID} {
		if jid != "" && !slices.Contains(all, jid) {
			all = append(all, jid)
		}
	}
	return all
}
