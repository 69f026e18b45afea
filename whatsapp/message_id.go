package whatsapp

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"go.mau.fi/whatsmeow"
)

// NewMessageID returns a fresh WhatsApp message id: the prefix of WhatsApp Web
// and 18 random hexadecimal digits, the shape that the web client uses. It
// needs no session, so that an id can be stored before the send it is for.
func NewMessageID() string {
	var b [9]byte
	rand.Read(b[:]) // never fails
	return whatsmeow.WebMessageIDPrefix + strings.ToUpper(hex.EncodeToString(b[:]))
}
