package sends

import (
	"bytes"
	"encoding/json"
	"fmt"

	"postern/event"
	"postern/httpapi/strict"
)

// quotedMessage is a message that need not be stored here, in one of two forms, or none if it is empty. The first
// form is Key and Message; Message has one field, named by the messageType, with the content. The second form is
// the other fields, those of an event.
type quotedMessage struct {
	Key     *event.MessageKey `json:"key" doc:"Which message it is."`
	Message strict.Object     `json:"message"`

	KeyID          string          `json:"keyId"`
	KeyRemoteJID   string          `json:"keyRemoteJid" doc:"The JID of the chat, where key is not given." example:"$jid"`
	KeyFromMe      bool            `json:"keyFromMe"`
	KeyParticipant string          `json:"keyParticipant" doc:"The JID of the sender in a group, where key is not given." example:"$jid"`
	MessageType    string          `json:"messageType"`
	Content        json.RawMessage `json:"content" doc:"Its content in the form of an event, where message is not given."`
}

func (q *quotedMessage) nested() bool { return q.Key != nil || q.Message != nil }

func (q *quotedMessage) flat() bool {
	return q.KeyID != "" || q.KeyRemoteJID != "" || q.KeyFromMe || q.KeyParticipant != "" || q.MessageType != "" || q.Content != nil
}

func (q *quotedMessage) given() bool { return q != nil && (q.nested() || q.flat()) }

func (q *quotedMessage) original() (*event.Original, error) {
	if q.nested() && q.flat() {
		return nil, fmt.Errorf("%w: options.quotedMessage must have either key and message, or the fields of an event", event.ErrContent)
	}
	if q.flat() {
		return q.ofEvent()
	}
	if q.Key == nil || q.Message == nil {
		return nil, strict.Missing("options.quotedMessage", "must have both key and message")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(q.Message, &fields); err != nil || len(fields) != 1 {
		return nil, fmt.Errorf("%w: options.quotedMessage.message must have exactly one field, named by the messageType", event.ErrContent)
	}
	o := event.Original{Key: *q.Key}
	for name, content := range fields {
		o.MessageType, o.Content = name, textContent(content)
	}
	return &o, o.Check("options.quotedMessage.key")
}

func (q *quotedMessage) ofEvent() (*event.Original, error) {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"keyId", q.KeyID != ""}, {"keyRemoteJid", q.KeyRemoteJID != ""}, {"messageType", q.MessageType != ""}, {"content", q.Content != nil},
	} {
		if !f.given {
			return nil, strict.Missing("options.quotedMessage."+f.name, "is required")
		}
	}
	o := event.Original{
		Key:         event.MessageKey{RemoteJID: q.KeyRemoteJID, ID: q.KeyID, FromMe: q.KeyFromMe, Participant: q.KeyParticipant},
		MessageType: q.MessageType, Content: textContent(q.Content),
	}
	return &o, o.Check("options.quotedMessage")
}

// textContent returns the content of a message as it is stored: clients write a plain text as a string, which is
// stored as {"text":…}.
func textContent(raw json.RawMessage) json.RawMessage {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		return append(append([]byte(`{"text":`), raw...), '}')
	}
	return raw
}
