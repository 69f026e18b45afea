package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// StoreHistory stores history messages in one commit, and returns their number. Known
// messages remain unchanged, and no events are published. It drops messages under unusable
// keys. Unless received messages are stored, it does nothing.
func (a *Archive) StoreHistory(ctx context.Context, instance int64, all []*event.Message) (stored int, err error) {
	kept := all[:0:0]
	for _, m := range all {
		if Storable(m) {
			m.History = true
			kept = append(kept, m)
		}
	}
	if !a.cfg.SaveMessages || len(kept) == 0 {
		return 0, nil
	}
	err = a.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		stored = 0
		for _, m := range kept {
			_, was, err := a.storeMessage(tx, instance, m, uuid.Nil)
			if err != nil {
				return err
			}
			if !was {
				stored++
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("store history of instance %d: %w", instance, err)
	}
	return stored, nil
}

// ErrNoAnchor reports that no message of a chat is stored from which its history could go
// back.
var ErrNoAnchor = errors.New("no message of the chat is stored to go back from; send or receive one first")

// Anchor returns the stored message of a chat with that id, or the oldest if id is 0.
// Either address of a person names the chat. Errors: those of Config.Owner, ErrNoMessage if the
// chat has no such message, ErrNoAnchor.
func (a *Archive) Anchor(instance int64, chat string, id int64) (m event.Message, err error) {
	if err := a.owner(instance); err != nil {
		return m, err
	}
	found := false
	err = a.cfg.Store.View(func(tx *store.Tx) (err error) {
		names := chatNames(tx, instance, chat)
		if id == 0 {
			m, found, err = oldest(tx, instance, names)
			return err
		}
		m, err = message(tx, instance, id)
		found = err == nil && slices.Contains(names, chatOf(&m))
		return err
	})
	switch {
	case errors.Is(err, ErrNoMessage), err == nil && !found && id != 0:
		return m, fmt.Errorf("%w: the chat has no message with id %d", ErrNoMessage, id)
	case err == nil && !found:
		return m, ErrNoAnchor
	}
	return m, err
}

// oldest returns the oldest stored message of a chat with these names.
func oldest(tx *store.Tx, instance int64, names []string) (first event.Message, found bool, err error) {
	for _, name := range names {
		rows := store.Range{Prefix: chatPrefix(instance, name), Limit: heardLook}
		err := tx.Scan(messageChats, rows, func(k, _ []byte) (bool, error) {
			m, err := message(tx, instance, idAt(k))
			if err != nil {
				return true, nil //nolint:nilerr // a damaged message counts as not stored
			}
			if !found || m.MessageTimestamp < first.MessageTimestamp {
				first, found = m, true
			}
			return false, nil
		})
		if err != nil {
			return first, found, err
		}
	}
	return first, found, nil
}
