package httpapi

import (
	"encoding/json"
	"errors"
	"strconv"

	"postern/event"
)

// messageRef names a stored message: a number is its id here, a string its id
// at WhatsApp. A string of digits may be either.
type messageRef struct {
	id    int64
	keyID string
}

// number is the id here, 0 when it is the other one.
func (m messageRef) number() int64 {
	if m.keyID != "" {
		if n, err := strconv.ParseInt(m.keyID, 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return m.id
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *messageRef) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &m.keyID) == nil && m.keyID != "" {
		return nil
	}
	if json.Unmarshal(raw, &m.id) == nil && m.id > 0 {
		return nil
	}
	return errors.New("it must be the id of a message: a positive integer, or the key id as a string")
}

// quotedRef is a messageRef that may be 0: none.
type quotedRef struct{ messageRef }

func (q quotedRef) given() bool { return q != quotedRef{} }

// UnmarshalJSON implements json.Unmarshaler.
func (q *quotedRef) UnmarshalJSON(raw []byte) error {
	if string(raw) == "0" {
		*q = quotedRef{}
		return nil
	}
	return q.messageRef.UnmarshalJSON(raw)
}

// message is a stored message by either of its ids.
func (a *api) message(id int64, ref messageRef) (event.Message, error) {
	if ref.keyID != "" {
		return a.messageByText(id, ref.keyID)
	}
	return a.Messages.Message(id, ref.id)
}

// messageByText is a stored message by its id, or else by its key id.
func (a *api) messageByText(instanceID int64, text string) (event.Message, error) {
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && id > 0 {
		if m, err := a.Messages.Message(instanceID, id); err == nil {
			return m, nil
		}
	}
	return a.Messages.MessageByKey(instanceID, text)
}

// originalOf is a stored message as one to be quoted, forwarded or changed. In
// groups the LID of the sender is preferred: it is what groups know people by.
func originalOf(m event.Message) *event.Original {
	o := &event.Original{MessageType: m.MessageType, Content: m.Content}
	o.Key = event.MessageKey{
		ID: m.KeyID, FromMe: m.KeyFromMe,
		RemoteJID: firstGiven(m.KeyRemoteJID, m.KeyLID), Participant: firstGiven(m.KeyParticipantLID, m.KeyParticipant),
	}
	return o
}

func firstGiven(texts ...*string) string {
	for _, t := range texts {
		if t != nil && *t != "" {
			return *t
		}
	}
	return ""
}
