package translate

import (
	"encoding/json"
	"reflect"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// metadata is what a message contains besides its content. Every key is optional; a
// message with none has the metadata null. The content's own contextInfo, such as the
// quoted message, mentions and forwarding, is not repeated.
type metadata struct {
	// Wrappers names the fields that the content was wrapped in, the outermost first.
	// An encrypted addition that could be decrypted counts as one, such as
	// "encReactionMessage". The envelope of messages sent by the own phone does not.
	Wrappers  []string `json:"wrappers,omitempty"`
	Ephemeral bool     `json:"ephemeral,omitempty"` // it disappears after a time
	ViewOnce  bool     `json:"viewOnce,omitempty"`

	// Edited is true for the new form of an earlier message, whose key id is EditOf.
	// The edit has its own key id, except in newsletters.
	Edited bool   `json:"edited,omitempty"`
	EditOf string `json:"editOf,omitempty"`

	// Revoked is the key id of the message that this one deletes for everyone.
	Revoked string `json:"revoked,omitempty"`

	// Parent is the message that this one is part of, such as an album.
	Parent *parent `json:"parent,omitempty"`

	// Vote is the decrypted vote of a pollUpdateMessage: "selectedOptions" are the
	// SHA-256 of the chosen options' names, absent if the vote was withdrawn. The
	// names are in the message that created the poll.
	Vote json.RawMessage `json:"vote,omitempty"`

	// EventResponse is the decrypted answer of an encEventResponseMessage.
	EventResponse json.RawMessage `json:"eventResponse,omitempty"`

	// Recovered is true for a message that could not be decrypted at first, which
	// messages.undecryptable reported.
	Recovered bool `json:"recovered,omitempty"`

	BusinessName string `json:"businessName,omitempty"` // verified by WhatsApp
	Broadcast    string `json:"broadcast,omitempty"`    // the list that a direct message was sent to
	ServerID     int    `json:"serverId,omitempty"`     // a newsletter's number for the message
	Truncated    bool   `json:"truncated,omitempty"`    // content was cut at 4 MiB
	Source       string `json:"source,omitempty"`       // FromHistory, or empty
}

// FromHistory is the source of a message that came with history.
const FromHistory = "history"

// parent names the message that another belongs to.
type parent struct {
	Type string `json:"type"` // as the schema names it, for example MEDIA_ALBUM
	ID   string `json:"id"`   // key id
}

// describe sets the fields that follow from the event and its wrappers.
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
	md.Recovered = IsCopy(evt)
}

// concerns sets the message that this one edits or deletes.
func (md *metadata) concerns(u unwrapped) {
	if u.edited {
		md.Edited, md.EditOf = true, u.editOf
	}
	md.target(u.message)
}

// target sets the message of a revocation, or of an edit whose new form is missing or
// encrypted.
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

// maxKeyID is the greatest length of a message id, in bytes. Clients use some thirty;
// the keys of the store and receivers have limits.
const maxKeyID = 255

// keyID returns the id of a message key, "" if it is too long: a sender can put
// megabytes there.
func keyID(key *waCommon.MessageKey) string {
	if len(key.GetID()) > maxKeyID {
		return ""
	}
	return key.GetID()
}

// isEdit reports whether the encrypted part is the new form of a message.
func isEdit(s *waE2E.SecretEncryptedMessage) bool {
	switch s.GetSecretEncType() {
	case waE2E.SecretEncryptedMessage_MESSAGE_EDIT, waE2E.SecretEncryptedMessage_EVENT_EDIT, waE2E.SecretEncryptedMessage_POLL_EDIT:
		return true
	default:
		return false
	}
}

// json returns nil, for null, if all fields are empty.
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

// IsCopy reports whether a message is the second copy of one that could not be
// decrypted, by its sender or by the phone.
func IsCopy(evt *events.Message) bool { return evt.RetryCount > 0 || evt.UnavailableRequestID != "" }
