package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxText is the longest text of a message, in characters.
const MaxText = 65536

// ErrContent is wrapped by every error of ParseContent: the message content
// breaks a rule, which the error names.
var ErrContent = errors.New("invalid message content")

// Content is the content of one outgoing message, validated. Exactly one field
// is set. Content kinds other than text are not sent yet.
type Content struct {
	Text *TextContent
}

// TextContent is the payload of a text message: {"text": "…"}.
type TextContent struct {
	Text string `json:"text"`
}

// ParseContent validates the payload of a message of the given type ("text").
// Unknown fields are refused. Errors wrap ErrContent and name the field.
func ParseContent(kind string, payload []byte) (Content, error) {
	if kind != "text" {
		return Content{}, fmt.Errorf("%w: type %q is not one of: text", ErrContent, kind)
	}
	var t TextContent
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return Content{}, fmt.Errorf("%w: payload: %w", ErrContent, err)
	}
	switch n := utf8.RuneCountInString(t.Text); {
	case n == 0:
		return Content{}, fmt.Errorf("%w: text must not be empty", ErrContent)
	case n > MaxText:
		return Content{}, fmt.Errorf("%w: text has %d characters, at most %d are allowed", ErrContent, n, MaxText)
	}
	return Content{Text: &t}, nil
}

// Outgoing is one message to send.
type Outgoing struct {
	ID      string // WhatsApp message id, chosen and stored before the send
	To      string // JID: digits@s.whatsapp.net, …@lid or …@g.us
	Content Content
}

// Sent is what WhatsApp acknowledged.
type Sent struct {
	Message *Message // ready to store: everything but the internal ID
}
