package instance

import (
	"encoding/json"
	"errors"

	"postern/event"
	"postern/store"
)

// EditMessage replaces the content of a stored message in the caller's
// transaction; the former content is not kept. One that was removed meanwhile
// is no error.
func (r *Registry) EditMessage(tx *store.Tx, instance, id int64, content json.RawMessage) error {
	key := store.Key(instance, id)
	stored, found, err := store.GetJSON[storedMessage](tx, messages, key)
	if err != nil || !found {
		if errors.Is(err, store.ErrDamaged) {
			return nil // reported by the store; the edit itself is stored all the same
		}
		return err
	}
	stored.Message.Content = content
	return store.PutJSON(tx, messages, key, stored)
}

// Editable tells whether the content of a message has a text that an edit
// replaces: a text, or a file that takes a caption.
func Editable(m event.Message) bool {
	switch m.MessageType {
	case "conversation", "extendedTextMessage", "imageMessage", "videoMessage", "documentMessage":
		return true
	}
	return false
}
