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
	key := store.Key(instance, id)
	stored, found, err := store.GetJSON[storedMessage](tx, messages, key)
	if err != nil || !found {
		if errors.Is(err, store.ErrDamaged) {
			return nil // reported by the store; the edit event is stored nevertheless
		}
		return err
	}
	stored.Message.Content = content
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
