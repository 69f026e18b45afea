package messages

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// storedMessage is the record in the message bucket.
type storedMessage struct {
	StoredAt int64       `json:"storedAt"`          // Unix milliseconds; basis of retention
	Event    uuid.UUID   `json:"event,omitzero"`    // id of its messages.upsert if that was durable
	Deleted  bool        `json:"deleted,omitempty"` // WhatsApp took its deletion, see MarkDeleted
	Message  keptMessage `json:"message"`
}

// messageStored is when a message was stored.
func messageStored(_, value []byte) (at time.Time) {
	var m struct {
		StoredAt int64 `json:"storedAt"`
	}
	if json.Unmarshal(value, &m) == nil && m.StoredAt != 0 {
		at = time.UnixMilli(m.StoredAt).UTC()
	}
	return at
}

// keptMessage is an event.Message whose record omits null, false and empty fields, a
// quarter of the file otherwise.
type keptMessage struct {
	ID                int64           `json:"id"`
	KeyID             string          `json:"keyId"`
	KeyRemoteJID      *string         `json:"keyRemoteJid,omitempty"`
	KeyLID            *string         `json:"keyLid,omitempty"`
	KeyFromMe         bool            `json:"keyFromMe,omitempty"`
	KeyParticipant    *string         `json:"keyParticipant,omitempty"`
	KeyParticipantLID *string         `json:"keyParticipantLid,omitempty"`
	PushName          *string         `json:"pushName,omitempty"`
	MessageType       string          `json:"messageType"`
	Content           json.RawMessage `json:"content,omitempty"`
	MessageTimestamp  int64           `json:"messageTimestamp"`
	Device            *string         `json:"device,omitempty"`
	IsGroup           bool            `json:"isGroup,omitempty"`
	Metadata          json.RawMessage `json:"metadata,omitempty"`

	InstanceID         int64            `json:"instanceId,omitempty"`
	ExternalAttributes event.Attributes `json:"externalAttributes,omitempty"`
	Media              *event.MediaLink `json:"-"` // of events only
	History            bool             `json:"history,omitempty"`
}

// StoreMessage stores m for an instance in the caller's transaction unless a message with
// that key is stored, and returns the id of the stored one. A damaged message counts as
// not stored. A history message becomes the live one.
func (a *Archive) StoreMessage(tx *store.Tx, instance int64, m *event.Message) (id int64, err error) {
	id, _, err = a.storeMessage(tx, instance, m, uuid.Nil)
	return id, err
}

// storeMessage is StoreMessage that also reports whether the message was known; a history
// message that arrives live was not. eventID is the id of its event if that is part of this
// commit, else uuid.Nil.
func (a *Archive) storeMessage(tx *store.Tx, instance int64, m *event.Message, eventID uuid.UUID) (id int64, was bool, err error) {
	key := messageKey(instance, m)
	known, err := tx.Get(messageKeys, key)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return 0, false, err
	}
	if known != nil {
		if old, err := message(tx, instance, store.Number(known)); err == nil {
			if !old.History || m.History {
				return old.ID, true, nil
			}
			if err := arrive(tx, instance, &old, m, eventID); err != nil {
				return 0, false, err
			}
			return old.ID, false, a.isStored(tx, instance, old.ID, m)
		}
	}
	id, err = a.newMessage(tx, instance, key, m, eventID)
	if err != nil {
		return 0, false, err
	}
	return id, false, a.isStored(tx, instance, id, m)
}

// isStored calls Config.Stored with a stored message.
func (a *Archive) isStored(tx *store.Tx, instance, id int64, m *event.Message) error {
	if a.cfg.Stored == nil || m.History {
		return nil
	}
	stored := *m
	stored.ID = id
	return a.cfg.Stored(tx, instance, &stored)
}

// arrive turns a stored history message into the live one.
func arrive(tx *store.Tx, instance int64, old, m *event.Message, eventID uuid.UUID) error {
	key := store.Key(instance, old.ID)
	stored, found, err := store.GetJSON[storedMessage](tx, messages, key)
	if err != nil || !found {
		return err
	}
	stored.Event, stored.Message = eventID, keptMessage(*m)
	stored.Message.ID = old.ID
	return errors.Join(
		tx.Delete(messageChats, chatKey(instance, old)),
		store.PutJSON(tx, messages, key, stored),
		indexChat(tx, instance, (*event.Message)(&stored.Message)),
	)
}

func (a *Archive) newMessage(tx *store.Tx, instance int64, key []byte, m *event.Message, eventID uuid.UUID) (id int64, err error) {
	if err := a.cfg.Owner(tx, instance); err != nil {
		return 0, err // deleted in the meantime
	}
	n, err := tx.NextID(messages)
	if err != nil {
		return 0, err
	}
	stored := storedMessage{StoredAt: tx.Now().UnixMilli(), Event: eventID, Message: keptMessage(*m)}
	stored.Message.ID = int64(n)
	err = errors.Join(
		store.PutJSON(tx, messages, store.Key(instance, n), stored),
		indexChat(tx, instance, (*event.Message)(&stored.Message)),
		tx.Put(messageKeys, key, store.Key(n)),
		indexVote(tx, instance, (*event.Message)(&stored.Message)),
	)
	return int64(n), err
}

// message reads a stored message.
func message(tx *store.Tx, instance, id int64) (event.Message, error) {
	m, _, err := messageWithEvent(tx, instance, id)
	return m, err
}

// messageWithEvent is message with the id of its event, uuid.Nil if that was not durable.
func messageWithEvent(tx *store.Tx, instance, id int64) (m event.Message, eventID uuid.UUID, err error) {
	stored, found, err := store.GetJSON[storedMessage](tx, messages, store.Key(instance, id))
	if err != nil {
		return m, eventID, err
	}
	if !found {
		return m, eventID, ErrNoMessage
	}
	return event.Message(stored.Message), stored.Event, nil
}

// Storable reports whether a message has a usable key: the size of the store's keys is
// limited, and the record has the key's text in JSON.
func Storable(m *event.Message) bool {
	return m.KeyID != "" && Plausible(m.KeyID) && Plausible(chatOf(m))
}

// messageKey is instance, key id and chat, so that reusing an id of another chat cannot
// hide a message.
func messageKey(instance int64, m *event.Message) []byte {
	return store.Key(instance, m.KeyID, byte(0), chatOf(m))
}

// chatOf returns the chat of a message, by LID if known.
func chatOf(m *event.Message) string {
	switch {
	case m.KeyLID != nil:
		return *m.KeyLID
	case m.KeyRemoteJID != nil:
		return *m.KeyRemoteJID
	}
	return ""
}

// addUpdate stores an update of the message with that key id and returns the message's
// internal id, 0 if no such message is stored.
func addUpdate(tx *store.Tx, instance int64, keyID string, u StoredUpdate) (int64, error) {
	id, err := findMessage(tx, instance, keyID)
	if err != nil || id == 0 {
		return 0, err
	}
	return id, putUpdate(tx, instance, id, u)
}

// putUpdate stores an update of a stored message.
func putUpdate(tx *store.Tx, instance, id int64, u StoredUpdate) error {
	n, err := tx.NextID(messageUpdates)
	if err != nil {
		return err
	}
	return errors.Join(store.PutJSON(tx, messageUpdates, store.Key(instance, id, n), u), settle(tx, instance, id, u.Status))
}

// findMessage looks up a message by key id alone, as receipts do. If several chats have
// that id, the account's own message is returned.
func findMessage(tx *store.Tx, instance int64, keyID string) (found int64, err error) {
	var ids []int64
	prefix := store.Key(instance, keyID, byte(0))
	err = tx.Scan(messageKeys, store.Range{Prefix: prefix, Limit: 8}, func(_, v []byte) (bool, error) {
		ids = append(ids, store.Number(v))
		return true, nil
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if len(ids) == 1 {
		return ids[0], nil
	}
	for _, id := range ids {
		if m, err := message(tx, instance, id); err == nil && m.KeyFromMe {
			return id, nil
		}
	}
	return ids[0], nil
}

// sharedID bounds the number of chats checked for one key id.
const sharedID = 64

// findInChat returns the id of the message with that key id in a chat, named by phone JID
// or LID, or 0 if there is none. The message may be stored under another name of the chat.
func findInChat(tx *store.Tx, instance int64, keyID, chat string) (id int64, err error) {
	names := chatNames(tx, instance, chat)
	r := store.Range{Prefix: store.Key(instance, keyID, byte(0)), Limit: sharedID}
	err = tx.Scan(messageKeys, r, func(_, v []byte) (bool, error) {
		m, err := message(tx, instance, store.Number(v))
		if err != nil {
			return true, nil //nolint:nilerr // a damaged message counts as not stored
		}
		for _, stored := range []*string{m.KeyRemoteJID, m.KeyLID} {
			if stored != nil && slices.Contains(names, *stored) {
				id = m.ID
			}
		}
		return id == 0, nil
	})
	return id, err
}

// deleteMessage removes a message that has no updates.
func deleteMessage(tx *store.Tx, instance int64, m *event.Message) error {
	id := binary.BigEndian.AppendUint64(nil, uint64(m.ID))
	return errors.Join(
		tx.Delete(messageKeys, messageKey(instance, m)),
		tx.Delete(messageChats, chatKey(instance, m)),
		tx.Delete(messages, store.Key(instance, id)),
		dropVote(tx, instance, m),
		tx.Delete(awaitedReceipts, store.Key(instance, id)),
	)
}
