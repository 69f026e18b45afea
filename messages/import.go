package messages

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"postern/event"
	"postern/store"
)

// Imported is a message of another program with its updates.
type Imported struct {
	Message event.Message
	Updates []StoredUpdate
}

// ImportContact stores a contact of an instance in the caller's transaction. It skips one
// without a usable JID.
func ImportContact(tx *store.Tx, id int64, c *event.ContactChange) error {
	ids, ok := idsOf(c)
	if !ok {
		return nil
	}
	edit, err := editContact(tx, id, ids, c)
	if err == nil && edit.changes() {
		err = edit.save(tx, id)
	}
	return err
}

// ImportContacts stores contacts in key order: bbolt splits no page within a transaction,
// and an insertion among a hundred thousand entries moves half of them.
func ImportContacts(tx *store.Tx, id int64, all []event.ContactChange) error {
	for _, c := range slices.SortedFunc(slices.Values(all), func(a, b event.ContactChange) int { return strings.Compare(a.JID, b.JID) }) {
		if err := ImportContact(tx, id, &c); err != nil {
			return err
		}
	}
	return nil
}

// Import stores messages of a new instance as history, in the caller's transaction: each is placed by its time, before all live
// messages. Of two with the same key the first is kept.
func Import(tx *store.Tx, id int64, all []Imported) error {
	index := sortedPuts{}
	for _, m := range all {
		key := messageKey(id, &m.Message)
		if Check(&m.Message) != nil || index.Has(messageKeys, key) {
			continue
		}
		n, err := tx.NextID(messages)
		if err != nil {
			return err
		}
		stored := storedMessage{StoredAt: tx.Now().UnixMilli(), Message: keptMessage(m.Message)}
		stored.Message.ID, stored.Message.History = int64(n), true //nolint:gosec // counts from 1
		err = errors.Join(
			store.PutJSON(tx, messages, store.Key(id, n), stored),
			indexChat(index, id, (*event.Message)(&stored.Message)),
			index.Put(messageKeys, key, store.Key(n)),
			importUpdates(tx, store.Key(id, n), m.Updates),
		)
		if err != nil {
			return err
		}
	}
	return index.write(tx)
}

func importUpdates(tx *store.Tx, message []byte, all []StoredUpdate) error {
	for _, u := range all {
		n, err := tx.NextID(messageUpdates)
		if err != nil {
			return err
		}
		if err := store.PutJSON(tx, messageUpdates, store.Key(message, n), u); err != nil {
			return err
		}
	}
	return nil
}

// sortedPuts collects the records of a new instance by bucket and key.
type sortedPuts map[string]map[string][]byte

// Put collects a record.
func (s sortedPuts) Put(bucket string, key, value []byte) error {
	if s[bucket] == nil {
		s[bucket] = map[string][]byte{}
	}
	s[bucket][string(key)] = value
	return nil
}

// Has reports whether a record was collected.
func (s sortedPuts) Has(bucket string, key []byte) bool {
	_, has := s[bucket][string(key)]
	return has
}

// write puts all records in key order.
func (s sortedPuts) write(tx *store.Tx) error {
	for _, bucket := range slices.Sorted(maps.Keys(s)) {
		for _, key := range slices.Sorted(maps.Keys(s[bucket])) {
			if err := tx.Put(bucket, []byte(key), s[bucket][key]); err != nil {
				return err
			}
		}
	}
	return nil
}
