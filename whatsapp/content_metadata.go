package whatsapp

import (
	"encoding/json"
	"reflect"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// metadata is what a message tells beside its content. Every key is optional,
// and a message with none has the metadata null. What the content's own
// contextInfo says, such as the quoted message, mentions and forwarding, is
// not repeated.
type metadata struct {
	// Wrappers names the fields that the content was wrapped in, the outermost
	// first. An encrypted addition that could be opened counts as one, as in
	// "encReactionMessage". The envelope of what the own phone sent does not.
	Wrappers  []string `json:"wrappers,omitempty"`
	Ephemeral bool     `json:"ephemeral,omitempty"` // it disappears after a time
	ViewOnce  bool     `json:"viewOnce,omitempty"`

	// Edited is true for the new form of an earlier message, EditOf is the key
	// id of that one. The edit has a key id of its own, except in newsletters.
	Edited bool   `json:"edited,omitempty"`
	EditOf string `json:"editOf,omitempty"`

	// Revoked is the key id of the message that this one deletes for everyone.
	Revoked string `json:"revoked,omitempty"`

	// Parent is the message that this one is a part of, as a picture of an album.
	Parent *parent `json:"parent,omitempty"`

	// Vote is the opened vote of a pollUpdateMessage: "selectedOptions" are the
	// SHA-256 of the chosen options' names, absent when the vote was taken
	// back. The names are in the message that created the poll.
	Vote json.RawMessage `json:"vote,omitempty"`

	// EventResponse is the opened answer of an encEventResponseMessage.
	EventResponse json.RawMessage `json:"eventResponse,omitempty"`

	// Recovered is true for a message that could not be decrypted when it came
	// first, which messages.undecryptable told.
	Recovered bool `json:"recovered,omitempty"`

	BusinessName string `json:"businessName,omitempty"` // as WhatsApp verified it
	Broadcast    string `json:"broadcast,omitempty"`    // the list that a direct message was sent to
	ServerID     int    `json:"serverId,omitempty"`     // a newsletter's number for the message
	Truncated    bool   `json:"truncated,omitempty"`    // content lacks what passes 4 MiB
	Source       string `json:"source,omitempty"`       // fromHistory, or empty
}

// fromHistory is the source of a message that the phone told of afterwards.
const fromHistory = "history"

// parent names the message that another belongs to.
type parent struct {
	Type string `json:"type"` // as the schema names it, for example MEDIA_ALBUM
	ID   string `json:"id"`   // key id
}

// describe fills in what the library and the wrappers tell.
func (md *metadata) describe(evt *events.Message, u unwrapped) {
	for _, name := range u.wrappers {
		switch name {
		case "deviceSentMessage":
			continue
		case "ephemeralMessage":
			md.Ephemeral = true
		case "viewOnceMessage", "viewOnceMessageV2", "viewOnceMessageV2Extension":
			md.ViewOnce = true
		case "editedMessage":
			md.Edited = true
		}
		md.Wrappers = append(md.Wrappers, name)
	}
	md.Ephemeral = md.Ephemeral || evt.IsEphemeral
	md.ViewOnce = md.ViewOnce || evt.IsViewOnce
	md.concerns(u)
	if n := evt.NewsletterMeta; n != nil && n.EditTS.Unix() > 0 {
		md.Edited, md.EditOf = true, evt.Info.ID
	}
	if id := keyID(u.parent.GetParentMessageKey()); id != "" {
		md.Parent = &parent{u.parent.GetAssociationType().String(), id}
	}
	if v := evt.Info.VerifiedName; v != nil {
		md.BusinessName = v.Details.GetVerifiedName()
	}
	md.ServerID = int(max(0, evt.Info.ServerID))
	md.Recovered = isCopy(evt)
}

// concerns names the message that this one edits or deletes.
func (md *metadata) concerns(u unwrapped) {
	if u.edited {
		md.Edited, md.EditOf = true, u.editOf
	}
	md.target(u.message)
}

// target names the message that a revocation, or an edit whose new form is
// missing or sealed, is about.
func (md *metadata) target(m *waE2E.Message) {
	if p := m.GetProtocolMessage(); p != nil {
		switch p.GetType() {
		case waE2E.ProtocolMessage_REVOKE:
			md.Revoked = keyID(p.GetKey())
		case waE2E.ProtocolMessage_MESSAGE_EDIT:
			md.Edited, md.EditOf = true, keyID(p.GetKey())
		default:
		}
	}
	if s := m.GetSecretEncryptedMessage(); isEdit(s) {
		md.Edited, md.EditOf = true, keyID(s.GetTargetMessageKey())
	}
}

// maxKeyID is how long the id of a message may be, in bytes. Clients make some
// thirty; the keys of the store have a limit, and so have receivers.
const maxKeyID = 255

// keyID is the id in a message's key, empty for what names no message: a
// stranger can write megabytes there.
func keyID(key *waCommon.MessageKey) string {
	if len(key.GetID()) > maxKeyID {
		return ""
	}
	return key.GetID()
}

// isEdit tells whether what is sealed is the new form of a message.
func isEdit(s *waE2E.SecretEncryptedMessage) bool {
	switch s.GetSecretEncType() {
	case waE2E.SecretEncryptedMessage_MESSAGE_EDIT, waE2E.SecretEncryptedMessage_EVENT_EDIT, waE2E.SecretEncryptedMessage_POLL_EDIT:
		return true
	default:
		return false
	}
}

// json is nil, for null, when there is nothing to tell.
func (md *metadata) json() json.RawMessage {
	if reflect.ValueOf(md).Elem().IsZero() {
		return nil
	}
	b, err := event.Marshal(md)
	if err != nil { // its parts are JSON already
		return nil
	}
	return b
}
