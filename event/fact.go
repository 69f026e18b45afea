package event

import "time"

// Fact is a change on an account that the connector reports, in the terms of the
// catalogue, before anything is stored. Package instance stores its data, then creates
// the event. The fields work together:
//
//   - Status, when set, is stored as the connection state first, so that the
//     envelope shows it.
//   - Link, when set, records which account the instance belongs to; Unlink
//     forgets it.
//   - Picture, when set, is stored as the account's own profile picture first.
//   - Restriction, when set, is stored first: WhatsApp restricts the account for a
//     while, or no longer does.
//   - ClientVersion goes with the status ClientOutdated, and with Online at a login.
//   - Kind may be empty: the fact then changes the state without an event.
//   - Data is the payload of Kind, with these exceptions: a *Message without
//     its ID for messages.upsert and send.message, a Receipt for
//     messages.update, a ContactChange for contacts.update and
//     contacts.upsert, a MessageDelete without its ID, and, without a Kind, a
//     *HistoryPart, whose messages are stored without events.
type Fact struct {
	Kind      Kind
	Data      any
	Status    State
	Reason    int    // WhatsApp's code behind Status, 0 when it gave none
	Error     string // why the connection is not in the wanted state, for the operator
	Link      *Link
	Unlink    bool
	Picture   *string // URL of the own profile picture, "" when it has none
	RequestID string  // of the API call that caused it, else empty
	ByCall    bool    // with Status: a call of the API asked for it

	Restriction   *Restriction
	ClientVersion string // that WhatsApp refused as outdated, or let in

	// Notice names a record that the connector keeps until this event is published. It is
	// deleted in the event's commit, or after the event if that has no commit.
	Notice string

	// PhoneSeen is when the account's phone gave a sign that this shows; zero: it shows none.
	PhoneSeen time.Time

	// Timers are the disappearing timers of chats that it shows.
	Timers []ChatTimer
}

// ChatTimer is a setting of a chat's disappearing timer.
type ChatTimer struct {
	Chat    []string // the addresses of the group, or of the person, the LID first
	Seconds uint32   // 0: switched off
	Set     int64    // when it was set, seconds since 1970; 0: not known
	At      int64    // the time of what carried it; 0: it is what the network answers now
}

// Restriction is a temporary restriction of an account by WhatsApp. One of each type may
// be in force.
type Restriction struct {
	Type   InstanceStatusType // StatusAccountReachoutTimelock, StatusTemporaryBan or StatusAccountRestricted
	Lifted bool               // it has ended; the fields below are not used
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

// Receipt is a delivery or read report for messages that may be stored.
type Receipt struct {
	KeyIDs []string
	Status UpdateStatus
	At     time.Time
	Chat   string // where they are, by phone when that is known
	LID    string // the same by LID, empty when unknown
}

func (r Receipt) about() About { return About{Chat: r.Chat, LID: r.LID} }

// ContactChange is a change of a contact. A nil field is unknown and leaves the stored
// value unchanged.
type ContactChange struct {
	JID          string // the phone's when it is known, else the LID
	LID          string // empty when unknown
	PushName     *string
	BusinessName *string
	FullName     *string       // as the account's own address book has it
	Source       ContactSource // which name changed, for contacts.update
}

func (c ContactChange) about() About { return ofPerson(c.JID, c.LID) }

// HistoryPart is a part of the message history of the account's phone.
type HistoryPart struct {
	Messages []*Message
	Stored   int // number of new messages, set when they were stored
}
