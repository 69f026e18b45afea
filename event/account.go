package event

import (
	"fmt"
	"time"
)

// ErrNoAnswer is wrapped when WhatsApp was asked for something that is no send,
// and did not answer in time. What was to change may have changed. It is an
// ErrOutcomeUnknown too.
var ErrNoAnswer = fmt.Errorf("WhatsApp did not answer in time: %w", ErrOutcomeUnknown)

// EditWindow is how long after its send a message can be edited: WhatsApp's
// clients ignore what comes later.
const EditWindow = 20 * time.Minute

// Person is somebody by both addresses. JID is the phone's where it is known,
// else the LID.
type Person struct {
	JID string  `json:"jid"`
	LID *string `json:"lid"` // null: not known
}

// Registration tells whether a phone number has an account.
type Registration struct {
	Number string `json:"number"` // the digits that were asked for
	Person

	Exists bool `json:"exists"`
}

// Picture is where the profile picture of a person or a group lies. The URL
// can be fetched without a credential, for some days.
type Picture struct {
	ID  string
	URL string
}

// LastMessage is the newest message of a chat as a change of the chat knows
// it: what is newer stays untouched by it.
type LastMessage struct {
	Key *MessageKey // nil: unknown
	At  time.Time   // zero: now
}
