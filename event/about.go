package event

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// About is the chat or person that an event concerns, for filters, orders and the log.
type About struct {
	Chat   string // JID by phone if known, else by LID; empty: no chat
	LID    string // JID by LID, empty when unknown
	FromMe bool   // the account's own message

	Broadcast bool // received through a broadcast list; Chat is the chat with its sender
}

// subject is implemented by the payloads of instance events and by what a [Fact] has in
// their place. The method returns the chat in which something happened, else the person
// or the group that changed, by the addresses that the payload has; the zero About if
// the payload concerns no chat.
type subject interface{ about() About }

// AboutOf returns the chat that the data of an instance event or of a [Fact] concerns,
// the zero About if it concerns none. An array concerns the chat of its first item.
func AboutOf(data any) About {
	if s, ok := data.(subject); ok {
		return s.about()
	}
	if list := reflect.ValueOf(data); list.Kind() == reflect.Slice && list.Len() > 0 {
		if s, ok := reflect.TypeAssert[subject](list.Index(0)); ok {
			return s.about()
		}
	}
	return About{}
}

// byBroadcast reports whether a message was sent to a broadcast list that the account
// is on. WhatsApp shows it in the chat with its sender.
func byBroadcast(m *Message) bool {
	if !bytes.Contains(m.Metadata, []byte(`"broadcast"`)) {
		return false // nearly every message; it need not be parsed
	}
	var metadata struct {
		Broadcast string `json:"broadcast"`
	}
	return json.Unmarshal(m.Metadata, &metadata) == nil && metadata.Broadcast != ""
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

// With adds the person's other address from other, which maps a phone's JID to its LID
// and a LID to the phone's JID, and returns "" when it is unknown. It does not call
// other when both are known.
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

// IsLID reports whether an address is a LID.
func IsLID(jid string) bool { return strings.HasSuffix(jid, "@"+LIDServer) }

// IsPerson reports whether a JID is the phone JID or the LID of a person.
func IsPerson(jid string) bool { return IsLID(jid) || strings.HasSuffix(jid, "@"+UserServer) }

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
