package messages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"postern/store"
)

// ErrNoContact reports that no contact with that JID is stored.
var ErrNoContact = errors.New("contact not found")

// ContactQuery selects contacts. The zero value selects the first ones.
type ContactQuery struct {
	After int64  // only ids above it: the Next of the page before
	Limit int    // page size; 0 means 50
	JID   string // only the one with this phone JID or LID
	Name  string // only those with this text in one of their names, ignoring case
}

const (
	contactsPage = 50

	// contactsMax is the maximum number of contacts scanned for one page.
	contactsMax = 5000
)

// ContactPage is a part of the contacts of an instance, ordered by id. It may be short or
// empty although more follow, if the scan met many contacts without the name.
type ContactPage struct {
	Contacts []Contact
	Next     int64 // After for the next page, 0 when there is none

	looked int
	last   int64 // id of the last contact scanned
}

// Contact returns the contact with that phone JID or LID. Errors: those of Config.Owner,
// and ErrNoContact.
func (a *Archive) Contact(instance int64, jid string) (Contact, error) {
	if err := a.owner(instance); err != nil {
		return Contact{}, err
	}
	var found *Contact
	err := a.cfg.Store.View(func(tx *store.Tx) (err error) {
		found, err = contactByJID(tx, instance, jid)
		return err
	})
	switch {
	case err != nil:
		return Contact{}, fmt.Errorf("read a contact of instance %d: %w", instance, err)
	case found == nil || found.JID == "": // unknown, or damaged
		return Contact{}, ErrNoContact
	}
	return *found, nil
}

// Contacts returns a page of an instance's contacts. Ids are stable and never reused, so
// paging neither repeats nor misses a contact that remains. It scans at most 5000
// contacts. Errors: those of Config.Owner, or the cause of ctx's end.
func (a *Archive) Contacts(ctx context.Context, instance int64, q ContactQuery) (ContactPage, error) {
	if err := a.owner(instance); err != nil {
		return ContactPage{}, err
	}
	if q.JID != "" {
		return a.contactAsPage(instance, q)
	}
	if q.Limit <= 0 {
		q.Limit = contactsPage
	}
	var page ContactPage
	err := a.cfg.Store.View(func(tx *store.Tx) error {
		all := store.Range{Prefix: store.Key(instance), From: store.Key(instance, q.After+1)}
		return tx.Scan(contacts, all, func(k, raw []byte) (bool, error) {
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			if page.looked == contactsMax {
				page.Next = page.last
				return false, nil
			}
			page.looked++
			more, err := page.add(raw, &q)
			if page.Next == 0 {
				page.last = idAt(k)
			}
			if err != nil {
				err = tx.Unreadable(contacts, k, err)
			}
			return more, err
		})
	})
	if err != nil {
		return ContactPage{}, fmt.Errorf("list contacts of instance %d: %w", instance, err)
	}
	return page, nil
}

// add processes the next record and reports whether the page needs another.
func (p *ContactPage) add(raw []byte, q *ContactQuery) (more bool, err error) {
	var c Contact
	if err := json.Unmarshal(raw, &c); err != nil {
		return false, err
	}
	if !c.matches(q) {
		return true, nil
	}
	if len(p.Contacts) == q.Limit { // one more than the page holds: another page follows
		p.Next = p.Contacts[q.Limit-1].ID
		return false, nil
	}
	p.Contacts = append(p.Contacts, c)
	return true, nil
}

func (c *Contact) matches(q *ContactQuery) bool {
	if q.Name == "" {
		return true
	}
	want := strings.ToLower(q.Name)
	for _, name := range []string{c.PushName, c.BusinessName, c.FullName} {
		if strings.Contains(strings.ToLower(name), want) {
			return true
		}
	}
	return false
}

// contactAsPage answers a query by JID, which matches at most one contact.
func (a *Archive) contactAsPage(instance int64, q ContactQuery) (ContactPage, error) {
	c, err := a.Contact(instance, q.JID)
	switch {
	case errors.Is(err, ErrNoContact), err == nil && (c.ID <= q.After || !c.matches(&q)):
		return ContactPage{}, nil
	case err != nil:
		return ContactPage{}, err
	}
	return ContactPage{Contacts: []Contact{c}}, nil
}
