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
