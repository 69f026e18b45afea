package event

import "time"

// Fact is one thing that happened on an account, told by the connector in the
// catalogue's words before anything is stored. Package instance stores what
// the fact asks for, then makes the event. The fields work together:
//
//   - Status, when set, is stored as the connection state first, so that the
//     envelope shows it.
//   - Link, when set, records which account the instance belongs to; Unlink
//     forgets it.
//   - Picture, when set, is stored as the account's own profile picture first.
//   - Restriction, when set, is stored first: the account may not write to
//     everybody for a while, or may again.
//   - ClientVersion goes with the status ClientOutdated, and with Online at a login.
//   - Kind may be empty: the fact then changes state and makes no event.
//   - Data is the payload of Kind, with these exceptions: a *Message without
//     its ID for messages.upsert and send.message, a Receipt for
//     messages.update, a ContactChange for contacts.update and
//     contacts.upsert, a MessageDelete without its ID, and, without a Kind, a
//     *HistoryPart, whose messages are stored and not told.
type Fact struct {
	Kind      Kind
	Data      any
	Status    State
	Reason    int    // WhatsApp's code behind Status, 0 when it gave none
	Error     string // why the connection is not as wished, for the operator
	Link      *Link
	Unlink    bool
	Picture   *string // URL of the own profile picture, "" when it has none
	RequestID string  // of the API call that caused it, else empty

	Restriction   *Restriction
	ClientVersion string // that WhatsApp refused as outdated, or let in

	// Notice names what the connector keeps until this event is told: it is
	// forgotten in the event's commit, or after the event when that has none.
	Notice string
}

// Restriction is what WhatsApp forbids an account for a while. One of each
// type may be in force.
type Restriction struct {
	Type   InstanceStatusType // StatusAccountReachoutTimelock, StatusTemporaryBan or StatusAccountRestricted
	Lifted bool               // it is over: what follows says nothing
	Until  time.Time          // zero when WhatsApp named no end
	Reason string             // WhatsApp's word or code for it, for the operator

	Inferred bool // refusals show it, WhatsApp gave no notice
	Code     int  // of the refusals
	Count    int  // how many there were in a row
}

// Link is the account behind a paired instance.
type Link struct {
	JID      string // the account's phone JID, without a device number
	LID      string
	PushName string
}

// Receipt is a delivery or read report for messages that the store may know.
type Receipt struct {
	KeyIDs []string
	Status UpdateStatus
	At     time.Time
	Chat   string // where they are, by phone when that is known
	LID    string // the same by LID, empty when unknown
}

func (r Receipt) about() About { return About{Chat: r.Chat, LID: r.LID} }

// ContactChange is what was learned about a contact. What is nil is not told,
// and what is stored of it stays.
type ContactChange struct {
	JID          string // the phone's when it is known, else the LID
	LID          string // empty when unknown
	PushName     *string
	BusinessName *string
	FullName     *string       // as the account's own address book has it
	Source       ContactSource // which name changed, for contacts.update
}

func (c ContactChange) about() About { return ofPerson(c.JID, c.LID) }

// HistoryPart is a few messages from before, as the account's phone has them.
type HistoryPart struct {
	Messages []*Message
	Stored   int // set by who stores them: how many were not known
}
