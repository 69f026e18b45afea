package instance

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"postern/event"
	"postern/store"
)

// Acquainted is how long after their last message a person is known to an account.
const Acquainted = 28 * 24 * time.Hour

// heardRows is the number of a chat's newest messages searched for an incoming one, some
// milliseconds of the index. A person who was sent more since their last message (14 an
// hour for 28 days) is no longer in conversation with the account. Of these, heardLook
// records are read: incoming ones that are too old, and those whose direction the index
// does not have.
const (
	heardRows = 10_000
	heardLook = 100
)

// Heard reports whether the instance has a stored message written at since or later by
// the person at one of the JIDs. Messages under the person's other known names count too.
func (r *Registry) Heard(instance int64, jids []string, since time.Time) (heard bool, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		for _, jid := range jids {
			for _, name := range chatNames(tx, instance, jid) {
				if heard, err = heardIn(tx, instance, name, since); heard || err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("look for messages to instance %d: %w", instance, err)
	}
	return heard, nil
}

// Wrote is Heard without a time limit.
func (r *Registry) Wrote(instance int64, jids []string) (wrote bool, err error) {
	return r.Heard(instance, jids, time.Time{})
}

// heardIn searches the messages stored under one name of a chat.
func heardIn(tx *store.Tx, instance int64, chat string, since time.Time) (heard bool, err error) {
	prefix := chatPrefix(instance, chat)
	newest := store.Range{Prefix: prefix, Reverse: true, Limit: heardRows}
	looks := 0
	err = tx.Scan(messageChats, newest, func(key, whose []byte) (bool, error) {
		if bytes.Equal(whose, ownMessage) {
			return true, nil
		}
		if looks++; looks > heardLook {
			return false, nil
		}
		m, err := message(tx, instance, idAt(key))
		if err != nil {
			return true, nil //nolint:nilerr // damaged or removed: skip it
		}
		heard = !m.KeyFromMe && (since.IsZero() || m.MessageTimestamp >= since.Unix())
		return !heard, nil
	})
	return heard, err
}

// isStranger reports whether a message is from a person not heard lately, if that matters
// now.
func (r *Registry) isStranger(instance int64, m *event.Message) bool {
	if m.KeyFromMe || m.IsGroup || m.KeyRemoteJID == nil {
		return false
	}
	rec, err := r.ByID(instance)
	if err != nil || !r.keepsStrangers(rec) {
		return false
	}
	if !strings.HasSuffix(*m.KeyRemoteJID, "@"+event.UserServer) {
		return false // messages are never sent to a bare LID; see MetSomewhere
	}
	heard, err := r.Heard(instance, []string{*m.KeyRemoteJID}, r.cfg.Store.Now().Add(-Acquainted))
	return err == nil && !heard
}

// Met reports that a person may no longer be a stranger to an instance, if that matters
// now.
func (r *Registry) Met(instance int64) {
	rec, err := r.ByID(instance)
	if err == nil && r.cfg.OnStatus != nil && r.keepsStrangers(rec) {
		r.cfg.OnStatus(instance, rec.Status)
	}
}

// MetSomewhere is Met for all affected instances: a number and a LID turned out to be one
// person, with messages stored under either.
func (r *Registry) MetSomewhere() {
	for _, rec := range r.List() {
		r.Met(rec.ID)
	}
}

// keepsStrangers reports whether a restriction or a limit currently prevents the instance
// from writing to strangers.
func (r *Registry) keepsStrangers(rec Record) bool {
	return slices.ContainsFunc(rec.InForce(r.cfg.Store.Now()), Restriction.Strangers) ||
		r.cfg.KeepsStrangers != nil && r.cfg.KeepsStrangers(rec.ID)
}
