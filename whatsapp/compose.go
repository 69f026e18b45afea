package whatsapp

import (
	"errors"

	"go.mau.fi/whatsmeow/proto/waE2E"

	"postern/event"
)

// compose builds the WhatsApp message of validated content.
func compose(c event.Content) (*waE2E.Message, error) {
	if c.Text == nil {
		return nil, errors.New("the content is of no kind that can be sent")
	}
	return &waE2E.Message{Conversation: new(c.Text.Text)}, nil
}
