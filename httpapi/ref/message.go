package ref

import (
	"encoding/json"
	"errors"
	"strconv"

	"postern/event"
	"postern/httpapi/rest"
	"postern/messages"
)

// Message names a stored message: by its id here if it is a number, by its id at WhatsApp if it is a string. A
// string of digits may be either.
type Message struct {
	id    int64
	KeyID string
}

// Number returns the id here, 0 if it is an id at WhatsApp.
func (m Message) Number() int64 {
	if m.KeyID != "" {
		if n, err := strconv.ParseInt(m.KeyID, 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return m.id
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Message) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &m.KeyID) == nil && m.KeyID != "" {
		return nil
	}
	if json.Unmarshal(raw, &m.id) == nil && m.id > 0 {
		return nil
	}
	return errors.New("it must be the id of a message: a positive integer, or the key id as a string")
}

// Quoted is a Message that may be 0, for none.
type Quoted struct{ Message }

// Given reports whether a message is quoted.
func (q Quoted) Given() bool { return q != Quoted{} }

// UnmarshalJSON implements json.Unmarshaler.
func (q *Quoted) UnmarshalJSON(raw []byte) error {
	if string(raw) == "0" {
		*q = Quoted{}
		return nil
	}
	return q.Message.UnmarshalJSON(raw)
}

// Messages finds stored messages of an instance.
type Messages interface {
	Message(instance, id int64) (event.Message, error)
	MessageByKey(instance int64, key string) (event.Message, error)
}

// Find returns the stored message that ref names by either of its ids.
func Find(in Messages, instance int64, ref Message) (event.Message, error) {
	if ref.KeyID != "" {
		return FindByText(in, instance, ref.KeyID)
	}
	return in.Message(instance, ref.id)
}

// FindToWrite is Find for a message of a chat that the key of c may write to. A key with recipients gets the same
// refusal for a message of another chat and for one that is not stored.
func FindToWrite(c *rest.Call, in Messages, ref Message) (event.Message, error) {
	m, err := Find(in, c.Instance.ID, ref)
	if errors.Is(err, messages.ErrNoMessage) && (c.Key == nil || c.Key.Recipients == nil) {
		return m, err
	}
	if errors.Is(err, messages.ErrNoMessage) || err == nil && c.MayWriteTo(Original(m).Key.RemoteJID) != nil {
		return event.Message{}, rest.RecipientNotAllowed("the message is not stored, or not of a chat with the key's recipients")
	}
	return m, err
}

// FindByText returns a stored message by its id, or else by its key id.
func FindByText(in Messages, instance int64, text string) (event.Message, error) {
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && id > 0 {
		if m, err := in.Message(instance, id); err == nil {
			return m, nil
		}
	}
	return in.MessageByKey(instance, text)
}

// Original returns a stored message as one to be quoted, forwarded or changed. In groups it prefers the LID of
// the sender, by which groups know people.
func Original(m event.Message) *event.Original {
	o := &event.Original{MessageType: m.MessageType, Content: m.Content}
	o.Key = event.MessageKey{
		ID: m.KeyID, FromMe: m.KeyFromMe,
		RemoteJID: FirstGiven(m.KeyRemoteJID, m.KeyLID), Participant: FirstGiven(m.KeyParticipantLID, m.KeyParticipant),
	}
	return o
}

// FirstGiven returns the first text that is neither absent nor empty.
func FirstGiven(texts ...*string) string {
	for _, t := range texts {
		if t != nil && *t != "" {
			return *t
		}
	}
	return ""
}

// CodeNoQuoted is the code of a reference to a quoted message that is not stored.
const CodeNoQuoted = "QUOTED_MESSAGE_NOT_FOUND"
