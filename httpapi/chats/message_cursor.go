package chats

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"

	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/messages"
)

// MessageCursor is the field cursor of a list of messages: a cursor from pageInfo, or a
// [MessagePlace]. Older clients send both.
type MessageCursor struct{ raw json.RawMessage }

// MessagePlace names a page by the message beside it.
type MessagePlace struct {
	Type string `json:"type" strict:"required" doc:"next: older messages; previous: newer messages." example:"next" rules:"enum=next|previous"`
	// 0: the beginning; or a cursor of pageInfo
	ID ref.Quoted `json:"id" strict:"required" doc:"The message: its id here, or its id at WhatsApp. A cursor of pageInfo is accepted too." example:"42"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *MessageCursor) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '"' && raw[0] != '{' {
		return errors.New("it must be a cursor of pageInfo, or an object with type and id")
	}
	m.raw = bytes.Clone(raw)
	return nil
}

// given reports whether there is a cursor. An empty text is none.
func (m MessageCursor) given() bool { return len(m.raw) > 0 && string(m.raw) != `""` }

// placeAt reads a given cursor into q.
func (a *API) placeAt(c *rest.Call, m MessageCursor, q *messages.Query) error {
	if m.raw[0] == '{' {
		return a.placeBeside(c, m.raw, q)
	}
	var text string
	if err := json.Unmarshal(m.raw, &text); err != nil {
		return rest.InvalidCursor()
	}
	at, newer, err := readMessageCursor(text)
	if newer {
		q.After = at
	} else {
		q.Before = at
	}
	return err
}

func (a *API) placeBeside(c *rest.Call, raw []byte, q *messages.Query) error {
	var at MessagePlace
	if err := strict.Decode(bytes.NewReader(raw), &at, c.Options()); err != nil {
		return strict.Under(err, "cursor")
	}
	beside, err := a.besideOf(c.Instance.ID, at.ID)
	if err != nil {
		return err
	}
	switch at.Type {
	case "next":
		q.Before = beside
	case "previous":
		q.After = beside
	default:
		return rest.InvalidQuery("cursor.type must be next or previous")
	}
	return nil
}

// besideOf returns the id of the message that a place names, 0 for the beginning.
func (a *API) besideOf(instanceID int64, ref ref.Quoted) (int64, error) {
	if n := ref.Number(); n != 0 || !ref.Given() {
		return n, nil
	}
	m, err := a.Messages.MessageByKey(instanceID, ref.KeyID)
	if errors.Is(err, messages.ErrNoMessage) {
		if at, _, cursorErr := readMessageCursor(ref.KeyID); cursorErr == nil {
			return at, nil
		}
	}
	return m.ID, err
}

// back is the first byte of a cursor to newer messages, which marks its direction wherever it is
// used.
const back = 'p'

// cursorBefore returns the [rest.CursorAt] of the page of newer messages.
func cursorBefore(id int64) *string {
	text := rest.CursorAt(id)
	if text == nil {
		return nil
	}
	raw, _ := base64.RawURLEncoding.DecodeString(*text) // its own
	*text = base64.RawURLEncoding.EncodeToString(append([]byte{back}, raw...))
	return text
}

// readMessageCursor reads a cursor of cursorAt or, with newer set, of cursorBefore.
func readMessageCursor(text string) (at int64, newer bool, err error) {
	if raw, err := base64.RawURLEncoding.Strict().DecodeString(text); err == nil && len(raw) == 9 && raw[0] == back {
		text, newer = base64.RawURLEncoding.EncodeToString(raw[1:]), true
	}
	at, err = rest.ReadCursor(text)
	return at, newer, err
}
