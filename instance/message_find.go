package instance

import (
	"errors"
	"fmt"

	"postern/event"
	"postern/store"
)

// ErrNoMessage reports that no such message is stored for the instance.
var ErrNoMessage = errors.New("message not found")

// Message returns a stored message by its internal id. Errors: ErrNoMessage.
func (r *Registry) Message(instance, id int64) (m event.Message, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		m, err = message(tx, instance, id)
		return err
	})
	return m, noMessage(err)
}

// MessageByKey returns a stored message by WhatsApp's id. If several chats have that id,
// the account's own message is returned. Errors: ErrNoMessage.
func (r *Registry) MessageByKey(instance int64, keyID string) (m event.Message, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
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
	return m, noMessage(err)
}

// noMessage distinguishes a missing message from a missing instance.
func noMessage(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrNoMessage
	}
	return err
}
