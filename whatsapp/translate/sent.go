package translate

import (
	"encoding/json"

	"go.mau.fi/whatsmeow/proto/waE2E"
)

// Sent returns the type, the content and the metadata of a message that this program sent. serverID is a
// newsletter's number for it; 0: none.
func Sent(m *waE2E.Message, serverID int) (kind string, content, about json.RawMessage) {
	u := unwrap(m)
	kind, w, _ := contentOf(u.message)
	var md metadata
	md.concerns(u)
	md.ServerID = max(0, serverID)
	return kind, w.buf, md.json()
}

// Unwrap returns a message without its wrappers.
func Unwrap(m *waE2E.Message) *waE2E.Message { return unwrap(m).message }
