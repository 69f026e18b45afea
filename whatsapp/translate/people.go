package translate

import (
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// peopleFacts handles names, pictures and presence of people.
func (t Translator) peopleFacts(evt any) ([]event.Fact, bool) {
	switch evt := evt.(type) {
	case *events.PushName:
		return t.contactChange(event.ContactsUpdate, evt.JID, evt.JIDAlt, event.ContactChange{
			PushName: &evt.NewPushName, Source: event.SourcePushName,
		})
	case *events.BusinessName:
		return t.contactChange(event.ContactsUpdate, evt.JID, businessAlt(evt), event.ContactChange{
			BusinessName: &evt.NewBusinessName, Source: event.SourceBusinessName,
		})
	case *events.Contact:
		return t.contactChange(event.ContactsUpsert, evt.JID, addressBookAlt(evt), addressBookEntry(evt))
	case *events.Picture:
		return one(event.ProfilePictureUpdate, event.PictureUpdate{
			JID: t.jid(evt.JID), Author: t.jid(evt.Author), DateTime: t.at(evt.Timestamp),
			Remove: evt.Remove, PictureID: evt.PictureID, IsGroup: evt.JID.Server == types.GroupServer,
		})
	case *events.UserAbout:
		return one(event.UserAboutUpdate, event.AboutUpdate{
			JID: t.jid(evt.JID), Status: evt.Status, DateTime: t.at(evt.Timestamp),
		})
	case *events.IdentityChange:
		return one(event.IdentityUpdate, event.IdentityChange{
			JID: t.jid(evt.JID), DateTime: t.at(evt.Timestamp), Implicit: evt.Implicit,
		})
	case *events.Presence:
		return one(event.PresenceUpdated, t.presence(evt))
	case *events.ChatPresence:
		return one(event.PresenceUpdated, t.typing(evt))
	default:
		return nil, false
	}
}

// contactChange sets the person of a change. Without one there is no fact.
func (t Translator) contactChange(kind event.Kind, jid, alt types.JID, c event.ContactChange) ([]event.Fact, bool) {
	c.JID, c.LID = t.Both(jid, alt)
	if c.JID == "" {
		return nil, true
	}
	return one(kind, c)
}

// businessAlt returns the other address of a business that named itself in a message.
func businessAlt(evt *events.BusinessName) types.JID {
	if evt.Message == nil || evt.Message.Sender.ToNonAD() != evt.JID.ToNonAD() {
		return types.EmptyJID
	}
	return evt.Message.SenderAlt
}

// addressBookEntry reads an entry of the account's address book, which contains names
// given by its owner.
func addressBookEntry(evt *events.Contact) event.ContactChange {
	name := evt.Action.GetFullName()
	if name == "" {
		name = evt.Action.GetFirstName()
	}
	return event.ContactChange{FullName: &name}
}

// addressBookAlt returns the other address of the person of an entry, empty if it is
// invalid.
func addressBookAlt(evt *events.Contact) types.JID {
	other := evt.Action.GetLidJID()
	if evt.JID.Server == types.HiddenUserServer {
		other = evt.Action.GetPnJID()
	}
	alt, err := types.ParseJID(other)
	if err != nil {
		return types.EmptyJID
	}
	return alt
}

func (t Translator) presence(evt *events.Presence) event.PresenceUpdate {
	p := event.PresenceUpdate{
		Type: event.PresenceOfUser, JID: t.jid(evt.From), Unavailable: &evt.Unavailable, DateTime: t.at(t.Now),
	}
	if evt.LastSeen.Unix() > 0 {
		p.LastSeen = event.At(evt.LastSeen)
	}
	return p
}

func (t Translator) typing(evt *events.ChatPresence) event.PresenceUpdate {
	p := event.PresenceUpdate{State: string(evt.State), Media: string(evt.Media), DateTime: t.at(t.Now)}
	p.ChatJID, _ = t.Both(evt.Chat, chatAlt(evt.MessageSource))
	p.SenderJID, _ = t.Both(evt.Sender, evt.SenderAlt)
	return p
}
