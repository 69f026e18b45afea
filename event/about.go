package event

import (
	"bytes"
	"encoding/json"
	"strings"
)

// About is whom an event concerns, for filters, orders and the log.
type About struct {
	Chat   string // JID by phone, or whatever the chat has; empty: no chat
	LID    string // JID by LID, empty when unknown
	FromMe bool   // the account's own message

	Broadcast bool // it came by a broadcast list, though the chat is that of who sent it
}

// AboutOf tells whom a payload is about: the chat of what happened in one, else
// the person or the group whose news it is. Of an address that has two forms
// only the one is there that the payload has. Data is that of an instance event, or
// what a Fact has in its place; what is about no chat gives the zero About.
func AboutOf(data any) About {
	switch d := data.(type) {
	case Message:
		return aboutMessage(&d)
	case *Message:
		return aboutMessage(d)
	case Receipt:
		return About{Chat: d.Chat, LID: d.LID}
	case MessageDelete:
		return ofChat(d.ChatJID, d.KeyFromMe)
	case MessageStar:
		return ofChat(d.ChatJID, d.KeyFromMe)
	case MessageUndecryptable:
		return ofChat(d.ChatJID, d.KeyFromMe)
	case MediaAnswer:
		return ofChat(d.ChatJID, d.KeyFromMe)
	case SendResult:
		if d.Data != nil {
			return ofChat(d.Data.RemoteJID, true)
		}
		return About{FromMe: true}
	case ChatUpdate:
		return ofChat(d.ChatJID, false)
	case ChatDelete:
		return ofChat(d.ChatJID, false)
	case LabelAssociation:
		return ofChat(d.ChatJID, false)
	case Call:
		return ofChat(d.ChatID, false)
	case NewsletterUpdate:
		return ofChat(d.NewsletterJID, false)
	}
	return aboutSubject(data)
}

// aboutSubject is AboutOf for news of a person or a group itself.
func aboutSubject(data any) About {
	switch d := data.(type) {
	case PresenceUpdate:
		if d.ChatJID != "" {
			return ofChat(d.ChatJID, false)
		}
		return ofChat(d.JID, false)
	case PictureUpdate:
		return ofChat(d.JID, false)
	case AboutUpdate:
		return ofChat(d.JID, false)
	case IdentityChange:
		return ofChat(d.JID, false)
	case ContactChange:
		return ofPerson(d.JID, d.LID)
	case ContactUpsert:
		return ofPerson(d.RemoteJID, orEmpty(d.LID))
	case []ContactUpdate:
		if len(d) > 0 {
			return ofPerson(d[0].RemoteJID, orEmpty(d[0].LID))
		}
	case GroupParticipantsUpdate:
		return ofChat(d.ID, false)
	case []GroupUpdate:
		if len(d) > 0 {
			return ofChat(d[0].Partial.ID, false)
		}
	case []GroupUpsert:
		if len(d) > 0 {
			return ofChat(d[0].ID, false)
		}
	}
	return About{}
}

func aboutMessage(m *Message) About {
	a := ofPerson(orEmpty(m.KeyRemoteJID), orEmpty(m.KeyLID))
	a.FromMe = m.KeyFromMe
	a.Broadcast = byBroadcast(m)
	return a
}

// byBroadcast tells whether a message was sent to a broadcast list that the
// account is on. It is shown in the chat with who sent it.
func byBroadcast(m *Message) bool {
	if !bytes.Contains(m.Metadata, []byte(`"broadcast"`)) {
		return false // of nearly every message, without reading it all
	}
	var told struct {
		Broadcast string `json:"broadcast"`
	}
	return json.Unmarshal(m.Metadata, &told) == nil && told.Broadcast != ""
}

// ofChat names a chat by the one address that is known.
func ofChat(jid string, fromMe bool) About {
	a := ofPerson(jid, "")
	a.FromMe = fromMe
	return a
}

func ofPerson(jid, lid string) About {
	if lid == "" && IsLID(jid) {
		lid = jid
	}
	if jid == "" {
		jid = lid
	}
	return About{Chat: jid, LID: lid}
}

// With adds the other address of the person, as other tells it: the LID of a
// phone's JID or the other way round, "" when it is not known. Where both are
// there nobody is asked.
func (a About) With(other func(jid string) string) About {
	switch {
	case other == nil || a.Chat == "":
	case IsLID(a.Chat):
		if phone := other(a.Chat); phone != "" {
			a.Chat = phone
		}
	case a.LID == "" && strings.HasSuffix(a.Chat, "@"+UserServer):
		a.LID = other(a.Chat)
	}
	return a
}

// IsLID tells whether an address is a LID.
func IsLID(jid string) bool { return strings.HasSuffix(jid, "@"+lidServer) }

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
