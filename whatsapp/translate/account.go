package translate

import (
	"go.mau.fi/whatsmeow/types"

	"postern/event"
)

// Account is the identity behind a paired session, empty when unpaired.
type Account struct{ JID, LID types.JID }

// Link returns the account as facts name it, nil when unpaired.
func (a Account) Link() *event.Link {
	if a.JID.IsEmpty() {
		return nil
	}
	l := &event.Link{JID: a.JID.ToNonAD().String()}
	if !a.LID.IsEmpty() {
		l.LID = a.LID.ToNonAD().String()
	}
	return l
}

// In returns the account's address as used in a chat.
func (a Account) In(chat types.JID) types.JID {
	if chat.Server == types.HiddenUserServer && !a.LID.IsEmpty() {
		return a.LID.ToNonAD()
	}
	return a.JID.ToNonAD()
}
