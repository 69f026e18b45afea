package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"

	"postern/httpapi/strict"
	"postern/messages"
)

// messageCursor is the field cursor of a list of messages: a cursor of pageInfo as
// it was answered, or a [messagePlace]. Older clients send both.
type messageCursor struct{ raw json.RawMessage }

// messagePlace names the page beside a message.
type messagePlace struct {
	Type string    `json:"type" strict:"required"` // next: older ones; previous: newer ones
	ID   quotedRef `json:"id" strict:"required"`   // 0: the beginning; or a cursor of pageInfo
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *messageCursor) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '"' && raw[0] != '{' {
		return errors.New("it must be a cursor of pageInfo, or an object with type and id")
	}
	m.raw = bytes.Clone(raw)
	return nil
}

// given reports whether there is a cursor: an empty text is none.
func (m messageCursor) given() bool { return len(m.raw) > 0 && string(m.raw) != `""` }

// placeAt reads a cursor that was given into q.
func (a *api) placeAt(c *call, m messageCursor, q *messages.Query) error {
	if m.raw[0] == '{' {
		return a.placeBeside(c, m.raw, q)
	}
	var text string
	if err := json.Unmarshal(m.raw, &text); err != nil {
		return errNoCursor()
	}
	at, newer, err := readMessageCursor(text)
	if newer {
		q.After = at
	} else {
		q.Before = at
	}
	return err
}

func (a *api) placeBeside(c *call, raw []byte, q *messages.Query) error {
	var at messagePlace
	if err := strict.Decode(bytes.NewReader(raw), &at, c.options()); err != nil {
		return strict.Under(err, "cursor")
	}
	beside, err := a.besideOf(c.instance.ID, at.ID)
	if err != nil {
		return err
	}
	switch at.Type {
	case "next":
		q.Before = beside
	case "previous":
		q.After = beside
	default:
		return invalidQuery("cursor.type must be next or previous")
	}
	return nil
}

// besideOf is the id of the message that a place names, 0 for the beginning.
func (a *api) besideOf(instanceID int64, ref quotedRef) (int64, error) {
	if n := ref.number(); n != 0 || !ref.given() {
		return n, nil
	}
	m, err := a.Messages.MessageByKey(instanceID, ref.keyID)
	if errors.Is(err, messages.ErrNoMessage) {
		if at, _, cursorErr := readMessageCursor(ref.keyID); cursorErr == nil {
			return at, nil
		}
	}
	return m.ID, err
}

// back begins the bytes of a cursor that leads to newer messages, so that it says
// so wherever it is passed back.
const back = 'p'

// cursorBefore is [cursorAt] of the page of newer messages.
func cursorBefore(id int64) *string {
	text := cursorAt(id)
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
	at, err = readCursor(text)
	return at, newer, err
}
