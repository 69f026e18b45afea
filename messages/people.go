package messages

import (
	"encoding/json"
	"errors"
	"slices"

	"postern/store"
)

// Names returns the addresses under which a person is known to an instance: the given one, those of the contact, and
// the other names of the chat.
func Names(tx *store.Tx, instance int64, jid string) []string { return chatNames(tx, instance, jid) }

// Newest returns the id of the message that was stored last, of any instance.
func Newest(tx *store.Tx) (uint64, error) { return tx.LastID(messages) }

// writtenBy is the part of a stored message that says whose it is.
type writtenBy struct {
	Message struct {
		KeyRemoteJID      string `json:"keyRemoteJid"`
		KeyLID            string `json:"keyLid"`
		KeyParticipant    string `json:"keyParticipant"`
		KeyParticipantLID string `json:"keyParticipantLid"`
		KeyFromMe         bool   `json:"keyFromMe"`
	} `json:"message"`
}

// OfPerson searches the messages of an instance from an id on, up to another, and returns up to limit that belong to
// the person with these addresses: those of the chat with the person, and those that the person wrote in groups. It
// looks at up to look messages. next is the id to continue with, 0 at the end.
func OfPerson(tx *store.Tx, instance int64, names []string, from, upTo uint64, look, limit int) (ids []uint64, next uint64, err error) {
	looked := 0
	r := store.Range{Prefix: store.Key(instance), From: store.Key(instance, from), Before: store.Key(instance, upTo+1)}
	err = tx.Look(messages, r, func(k, raw []byte) (bool, error) {
		id := uint64(idAt(k)) //nolint:gosec // as it was written
		if looked == look || len(ids) == limit {
			next = id
			return false, nil
		}
		looked++
		var w writtenBy
		if json.Unmarshal(raw, &w) != nil {
			return true, nil
		}
		m := w.Message
		if slices.Contains(names, m.KeyRemoteJID) || slices.Contains(names, m.KeyLID) ||
			!m.KeyFromMe && (slices.Contains(names, m.KeyParticipant) || slices.Contains(names, m.KeyParticipantLID)) {
			ids = append(ids, id)
		}
		return true, nil
	})
	return ids, next, err
}

// RemoveSome removes the first of some messages, as many as fit in one commit, and returns how many of the ids are
// done. One that is not there, or is damaged, is passed over.
func (a *Archive) RemoveSome(tx *store.Tx, instance int64, ids []int64) (done int, err error) {
	return a.removeNext(tx, instance, ids)
}

// ForgetPerson removes what is kept about a person beside messages: the contact, the timer and the names of the
// chat. It returns how many contacts it removed.
func ForgetPerson(tx *store.Tx, instance int64, names []string) (removed int, err error) {
	for _, name := range names {
		c, err := contactByJID(tx, instance, name)
		if err != nil {
			return removed, err
		}
		if c != nil {
			removed++
			if err := deleteContact(tx, instance, c); err != nil {
				return removed, err
			}
		}
		err = errors.Join(tx.Delete(contactJIDs, store.Key(instance, name)), tx.Delete(chatTimers, timerKey(instance, name)), dropNames(tx, instance, name))
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// dropNames removes the other names of a chat, in both directions.
func dropNames(tx *store.Tx, instance int64, name string) error {
	prefix := chatPrefix(instance, name)
	var others []string
	err := tx.Walk(chatNamesBucket, store.Range{Prefix: prefix}, func(k []byte) (bool, error) {
		others = append(others, string(k[len(prefix):]))
		return true, nil
	})
	for _, other := range others {
		err = errors.Join(err,
			tx.Delete(chatNamesBucket, store.Key(instance, name, byte(0), other)),
			tx.Delete(chatNamesBucket, store.Key(instance, other, byte(0), name)))
	}
	return err
}
