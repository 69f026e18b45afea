package messages

import (
	"bytes"
	"encoding/json"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// changePost applies a message that changes a stored post of a newsletter: it has the id of the post, where
// other edits and deletions have ids of their own. An edit replaces the stored content, and stored is the new
// form. A deletion changes nothing, as in other chats, and stored is it. changed is false for any other
// message, and for an edit that was stored before. eventID is as in storeMessage.
func changePost(tx *store.Tx, instance int64, stored, m *event.Message, eventID uuid.UUID) (changed bool, err error) {
	if m.KeyRemoteJID == nil || !event.IsChannel(*m.KeyRemoteJID) || m.History {
		return false, nil
	}
	var md struct {
		Edited  bool   `json:"edited"`
		EditOf  string `json:"editOf"`
		Revoked string `json:"revoked"`
	}
	if len(m.Metadata) == 0 || json.Unmarshal(m.Metadata, &md) != nil {
		return false, nil
	}
	if md.Revoked == m.KeyID {
		id := stored.ID
		*stored = *m
		stored.ID = id
		return true, nil
	}
	if !md.Edited || md.EditOf != m.KeyID || stored.MessageType == m.MessageType && bytes.Equal(stored.Content, m.Content) {
		return false, nil
	}
	stored.MessageType, stored.Content, stored.Metadata = m.MessageType, m.Content, m.Metadata
	return true, changeStored(tx, instance, stored.ID, func(record *storedMessage) {
		record.Event, record.Message = eventID, keptMessage(*stored)
	})
}
