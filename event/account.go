package event

import (
	"errors"
	"fmt"
	"time"
)

// ErrNoAnswer is wrapped when WhatsApp did not answer a request other than a send in
// time. The change may have been made. It wraps ErrOutcomeUnknown.
var ErrNoAnswer = fmt.Errorf("WhatsApp did not answer in time: %w", ErrOutcomeUnknown)

// EditWindow is how long after its send a message can be edited: WhatsApp's
// clients ignore later edits.
const EditWindow = 20 * time.Minute

// PostEditWindow is how long a post of a newsletter can be edited: WhatsApp refuses
// later edits.
const PostEditWindow = 30 * 24 * time.Hour

// Person is a person by both addresses. JID is the phone's if known, else the LID.
type Person struct {
	JID string  `json:"jid"`
	LID *string `json:"lid"` // null: not known
}

// Registration reports whether a phone number has an account.
type Registration struct {
	Number string `json:"number" doc:"The digits that were asked for." example:"$phone"`
	Person

	Exists bool `json:"exists" doc:"Whether the number has an account." example:"true"`
}

// UserInfo is what a phone number's account shows to everybody. Without an account, or where it shows nothing,
// fields are null.
type UserInfo struct {
	Number       string   `json:"number" doc:"The digits that were asked for." example:"$phone"`
	Exists       bool     `json:"exists" doc:"Whether the number has an account." example:"true"`
	JID          *string  `json:"jid"`
	LID          *string  `json:"lid"`
	About        *string  `json:"about" doc:"The text that the person shows about themselves." example:"At work"`
	PictureID    *string  `json:"pictureId"`
	Devices      []string `json:"devices" doc:"The JIDs of the account's devices; 0 is its phone." example:"[\"4915112345678@s.whatsapp.net\"]"`
	BusinessName *string  `json:"businessName"`
}

// Picture locates the profile picture of a person or a group. The URL can be fetched
// without a credential, for some days.
type Picture struct {
	ID  string
	URL string
}

// LastMessage is the newest message that a change of a chat applies to. Newer messages
// are not affected.
type LastMessage struct {
	Key *MessageKey // nil: unknown
	At  time.Time   // zero: now
}

// ErrStateConflict is wrapped when WhatsApp refused a change of the app state that an account's devices
// share, because our copy differs from WhatsApp's even after it was read again. A later attempt usually
// succeeds after a minute.
var ErrStateConflict = errors.New("the app state of the account's devices differs from WhatsApp's copy")
