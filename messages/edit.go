package messages

import (
	"encoding/json"
	"errors"

	"postern/event"
	"postern/store"
)

// EditMessage replaces the content of a stored message in the caller's transaction; the
// former content is lost. A message removed in the meantime causes no error.
func (a *Archive) EditMessage(tx *store.Tx, instance, id int64, content json.RawMessage) error {
	return changeStored(tx, instance, id, func(stored *storedMessage) { stored.Message.Content = content })
}

// MarkDeleted notes, in the caller's transaction, that WhatsApp took the deletion of a message by this account. The
// message remains stored. One removed in the meantime causes no error.
func (a *Archive) MarkDeleted(tx *store.Tx, instance, id int64) error {
	return changeStored(tx, instance, id, func(stored *storedMessage) { stored.Deleted = true })
}

// IsDeleted reports whether a stored message is marked by MarkDeleted, or is a deleted post of a newsletter.
func (a *Archive) IsDeleted(instance, id int64) (deleted bool, err error) {
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		deleted, err = isDeleted(tx, instance, id)
		return err
	})
	return deleted, err
}

func isDeleted(tx *store.Tx, instance, id int64) (bool, error) {
	stored, _, err := store.GetJSON[storedMessage](tx, messages, store.Key(instance, id))
	return stored.Deleted || deletesPost((*event.Message)(&stored.Message)), err
}

// changeStored changes the record of a message, if there is one that can be read: the store reports a damaged one, and
// the event of the change is stored nevertheless.
func changeStored(tx *store.Tx, instance, id int64, change func(*storedMessage)) error {
	key := store.Key(instance, id)
	stored, found, err := store.GetJSON[storedMessage](tx, messages, key)
	if err != nil || !found {
		if errors.Is(err, store.ErrDamaged) {
			return nil
		}
		return err
	}
	change(&stored)
	return store.PutJSON(tx, messages, key, stored)
}

// Editable reports whether the content of a message has an editable text: a text, or a
// file with a caption.
func Editable(m event.Message) bool {
	switch m.MessageType {
	case "conversation", "extendedTextMessage", "imageMessage", "videoMessage", "documentMessage":
		return true
	}
	return false
}
