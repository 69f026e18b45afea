package messages

import (
	"bytes"
	"fmt"
	"time"

	"postern/store"
)

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
func (a *Archive) Heard(instance int64, jids []string, since time.Time) (heard bool, err error) {
	err = a.cfg.Store.View(func(tx *store.Tx) error {
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
func (a *Archive) Wrote(instance int64, jids []string) (wrote bool, err error) {
	return a.Heard(instance, jids, time.Time{})
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
