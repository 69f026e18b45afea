package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"postern/event"
	"postern/store"
)

// chatPrefix returns the key prefix of a chat in the index of messages by chat.
func chatPrefix(instance int64, chat string) []byte { return store.Key(instance, chat, byte(0)) }

// chatKey is instance, chat, 0 and the place; it sorts the messages of a chat.
func chatKey(instance int64, m *event.Message) []byte {
	return append(chatPrefix(instance, chatOf(m)), placeOf(m)...)
}

// placeOf returns the position of a message in its chat. Live messages are ordered by id,
// as they were stored. History messages arrive in any order; they are ordered by time and
// come before all live ones, since no message has id 0. Every place ends with the id.
func placeOf(m *event.Message) []byte {
	if !m.History {
		return store.Key(m.ID)
	}
	return store.Key(int64(0), max(0, m.MessageTimestamp), m.ID)
}

// idAt returns the id of the message at a place.
func idAt(place []byte) int64 { return store.Number(place[max(0, len(place)-8):]) }

// Values of the index say whether a message is the account's own. They are empty in files
// written before the index had values.
var (
	ownMessage   = []byte{1}
	theirMessage = []byte{2}
)

func whose(m *event.Message) []byte {
	if m.KeyFromMe {
		return ownMessage
	}
	return theirMessage
}

// puts is a transaction, or a collector for one.
type puts interface {
	Has(bucket string, key []byte) bool
	Put(bucket string, key, value []byte) error
}

// indexChat adds a message to the index of its chat, and records both names of the chat.
func indexChat(tx puts, instance int64, m *event.Message) error {
	err := tx.Put(messageChats, chatKey(instance, m), whose(m))
	if m.KeyLID == nil || m.KeyRemoteJID == nil || *m.KeyLID == *m.KeyRemoteJID {
		return err
	}
	for _, pair := range [][2]string{{*m.KeyRemoteJID, *m.KeyLID}, {*m.KeyLID, *m.KeyRemoteJID}} {
		key := store.Key(instance, pair[0], byte(0), pair[1])
		if Plausible(pair[0]) && Plausible(pair[1]) && !tx.Has(chatNamesBucket, key) {
			err = errors.Join(err, tx.Put(chatNamesBucket, key, nil))
		}
	}
	return err
}

// maxChatNames bounds the other names of a chat that are followed: a phone number that
// passed between accounts has several.
const maxChatNames = 16

// chatNames returns the names under which a chat's messages may be stored: its LID, or
// its phone JID from before the LID was known. This does not depend on stored contacts.
func chatNames(tx *store.Tx, instance int64, chat string) []string {
	names := []string{chat}
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if c, err := contactByJID(tx, instance, chat); err == nil && c != nil {
		add(c.JID)
		add(c.LID)
	}
	prefix := chatPrefix(instance, chat)
	_ = tx.Scan(chatNamesBucket, store.Range{Prefix: prefix, Limit: maxChatNames}, func(k, _ []byte) (bool, error) {
		add(string(k[len(prefix):]))
		return true, nil
	})
	return names
}

// indexStep is the number of messages in one commit of indexChats.
const indexStep = 1000

// indexed is the key that marks a completely indexed file. No instance has id 0.
func indexed() []byte { return store.Key(int64(0)) }

// indexChats builds the index of messages by chat in files written before it existed. It
// stores the mark last; after a crash it starts over.
func (a *Archive) indexChats(ctx context.Context) error {
	var done bool
	err := a.cfg.Store.View(func(tx *store.Tx) error {
		done = tx.Has(chatNamesBucket, indexed())
		return nil
	})
	if err != nil || done {
		return err
	}
	for from := []byte(nil); ; {
		next, err := a.indexSome(ctx, from)
		if err != nil {
			return fmt.Errorf("index the stored messages by chat: %w", err)
		}
		if next == nil {
			return nil
		}
		if from == nil {
			a.log.Info("indexing the stored messages by chat, once")
		}
		from = next
	}
}

func (a *Archive) indexSome(ctx context.Context, from []byte) (next []byte, err error) {
	err = a.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		next = nil
		type row struct {
			instance int64
			m        event.Message
		}
		var rows []row
		n := 0
		err := tx.Scan(messages, store.Range{From: from, Limit: indexStep + 1}, func(k, _ []byte) (bool, error) {
			if n++; n > indexStep {
				next = k
				return false, nil
			}
			if m, err := message(tx, store.Number(k[:8]), store.Number(k[8:])); err == nil {
				m.Content = nil
				rows = append(rows, row{store.Number(k[:8]), m})
			}
			return true, nil
		})
		for _, row := range rows {
			err = errors.Join(err, indexChat(tx, row.instance, &row.m))
		}
		if next == nil {
			err = errors.Join(err, tx.Put(chatNamesBucket, indexed(), nil))
		}
		return err
	})
	return next, err
}
