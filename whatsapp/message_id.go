package whatsapp

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"go.mau.fi/whatsmeow"
)

// NewMessageID returns a new WhatsApp message id in the form of the web client: its
// prefix and 18 random hexadecimal digits. It needs no session, so that an id can be
// stored before the send.
func NewMessageID() string {
	var b [9]byte
	rand.Read(b[:]) // never fails
	return whatsmeow.WebMessageIDPrefix + strings.ToUpper(hex.EncodeToString(b[:]))
}
