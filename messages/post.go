package messages

import (
	"bytes"
	"encoding/json"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// aboutPost has the metadata of a message that changes a post of a newsletter.
type aboutPost struct {
	Edited  bool   `json:"edited"`
	EditOf  string `json:"editOf"`
	Revoked string `json:"revoked"`
}

// postChange returns the metadata of a message in a newsletter, the zero value for others.
func postChange(m *event.Message) (md aboutPost) {
	if m.KeyRemoteJID == nil || !event.IsChannel(*m.KeyRemoteJID) || len(m.Metadata) == 0 || json.Unmarshal(m.Metadata, &md) != nil {
		return aboutPost{}
	}
	return md
}

// deletesPost reports whether a message is the deletion of a post, which has the id of the post.
func deletesPost(m *event.Message) bool { return m.KeyID != "" && postChange(m).Revoked == m.KeyID }

// changePost applies a message that changes a stored post of a newsletter: it has the id of the post, where
// other edits and deletions have ids of their own. An edit replaces the stored content, and stored is the new
// form. A deletion marks the post and changes nothing else, as in other chats, and stored is the deletion. changed is
// false for any other message, for an edit that was stored before, and for a deletion of a deleted post. eventID is as
// in storeMessage.
func changePost(tx *store.Tx, instance int64, stored, m *event.Message, eventID uuid.UUID) (changed bool, err error) {
	if m.History {
		return false, nil
	}
	if deletesPost(m) {
		id := stored.ID
		*stored = *m
		stored.ID = id
		if before, err := isDeleted(tx, instance, id); err != nil || before {
			return false, err
		}
		return true, changeStored(tx, instance, id, func(record *storedMessage) { record.Deleted = true })
	}
	if md := postChange(m); !md.Edited || md.EditOf != m.KeyID || stored.MessageType == m.MessageType && bytes.Equal(stored.Content, m.Content) {
		return false, nil
	}
	stored.MessageType, stored.Content, stored.Metadata = m.MessageType, m.Content, m.Metadata
	return true, changeStored(tx, instance, stored.ID, func(record *storedMessage) {
		record.Event, record.Message = eventID, keptMessage(*stored)
	})
}
