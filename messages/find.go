package messages

import (
	"errors"
	"fmt"

	"postern/event"
	"postern/store"
)

// ErrNoMessage reports that no such message is stored for the instance.
var ErrNoMessage = errors.New("message not found")

// Message returns a stored message by its internal id. Errors: ErrNoMessage.
func (a *Archive) Message(instance, id int64) (m event.Message, err error) {
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		m, err = message(tx, instance, id)
		return err
	})
	return m, err
}

// MessageByKey returns a stored message by WhatsApp's id. If several chats have that id,
// the account's own message is returned. Errors: ErrNoMessage.
func (a *Archive) MessageByKey(instance int64, keyID string) (m event.Message, err error) {
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		id, err := findMessage(tx, instance, keyID)
		if err == nil && id == 0 {
			err = fmt.Errorf("%w: %.100q", ErrNoMessage, keyID)
		}
		if err != nil {
			return err
		}
		m, err = message(tx, instance, id)
		return err
	})
	return m, err
}

// Find returns the internal id of the message with WhatsApp's id in a chat, named by
// phone JID or LID, or 0 if there is none.
func (a *Archive) Find(instance int64, keyID, chat string) (id int64, err error) {
	err = a.cfg.Store.View(func(tx *store.Tx) (err error) {
		id, err = findInChat(tx, instance, keyID, chat)
		return err
	})
	return id, err
}
