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

// Acquainted is how long after their last message somebody is known to an
// account.
const Acquainted = 28 * 24 * time.Hour

// heardRows is how many of a chat's newest messages are looked at to find one
// that came from the other side, some milliseconds of the index. Somebody who
// was written to more often since their last message, 14 times an hour for 28
// days, is no longer in conversation with the account. Of these heardLook are
// read: those from the other side that are too old, and those of which the
// index does not say whose they are.
const (
	heardRows = 10_000
	heardLook = 100
)

// Heard reports whether a message from the person at one of the JIDs is stored
// for an instance that was written at since or later. What is stored of them
// under other names that the messages and contacts tell counts too.
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

// Wrote is Heard for messages of any time.
func (r *Registry) Wrote(instance int64, jids []string) (wrote bool, err error) {
	return r.Heard(instance, jids, time.Time{})
}

// heardIn looks in the messages that are stored under one name of a chat.
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
			return true, nil //nolint:nilerr // damaged, or removed: it tells of nobody
		}
		heard = !m.KeyFromMe && (since.IsZero() || m.MessageTimestamp >= since.Unix())
		return !heard, nil
	})
	return heard, err
}

// isStranger reports whether a message is from somebody who was not heard
// lately, where that makes a difference now.
func (r *Registry) isStranger(instance int64, m *event.Message) bool {
	if m.KeyFromMe || m.IsGroup || m.KeyRemoteJID == nil {
		return false
	}
	rec, err := r.ByID(instance)
	if err != nil || !r.keepsStrangers(rec) {
		return false
	}
	if !strings.HasSuffix(*m.KeyRemoteJID, "@"+event.UserServer) {
		return false // nobody is written to who is known by a LID alone; see MetSomewhere
	}
	heard, err := r.Heard(instance, []string{*m.KeyRemoteJID}, r.cfg.Store.Now().Add(-Acquainted))
	return err == nil && !heard
}

// Met tells that somebody may have ceased to be a stranger to an instance, where
// that makes a difference now.
func (r *Registry) Met(instance int64) {
	rec, err := r.ByID(instance)
	if err == nil && r.cfg.OnStatus != nil && r.keepsStrangers(rec) {
		r.cfg.OnStatus(instance, rec.Status)
	}
}

// MetSomewhere is Met for whichever instances it concerns: a number and a LID
// turned out to be one person, of whom something may be stored under either.
func (r *Registry) MetSomewhere() {
	for _, rec := range r.List() {
		r.Met(rec.ID)
	}
}

// keepsStrangers reports whether a restriction, or a limit, keeps the instance
// from writing to strangers now.
func (r *Registry) keepsStrangers(rec Record) bool {
	return slices.ContainsFunc(rec.InForce(r.cfg.Store.Now()), Restriction.Strangers) ||
		r.cfg.KeepsStrangers != nil && r.cfg.KeepsStrangers(rec.ID)
}
