package whatsapp

import (
	"encoding/json"
	"time"

	wabinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/reflect/protoreflect"

	"postern/event"
)

// translator turns the library's account events into facts. It decides nothing
// about the connection and touches no network, so that it can be handed any
// struct. What strangers send may be missing, empty or absurd in it.
type translator struct {
	other   func(types.JID) types.JID // from a phone JID to its LID and back, empty when unknown
	own     account
	now     time.Time
	offline bool   // the event waited while the instance was away
	source  string // of messages that did not come by themselves
}

// facts translates one event, which may tell several things. ok is false when
// the type is not one of the translator's; a known event that means nothing to
// a consumer gives no fact.
func (t translator) facts(evt any) (facts []event.Fact, ok bool) {
	for _, theme := range []func(any) ([]event.Fact, bool){
		t.chatFacts, t.storedMessageFacts, t.groupFacts, t.peopleFacts, t.callFacts,
		t.labelFacts, t.settingFacts, t.statusFacts, t.newsletterFacts,
	} {
		if facts, ok = theme(evt); ok {
			return facts, true
		}
	}
	return nil, silent(evt)
}

// silent names the events that say nothing to a consumer: transport
// measurements of calls, and the steps of a pairing by passkey, whose outcome
// is told by the pairing itself.
func silent(evt any) bool {
	switch evt.(type) {
	case *events.CallTransport, *events.CallRelayLatency,
		*events.PairPasskeyRequest, *events.PairPasskeyError, *events.PairPasskeyConfirmation:
		return true
	}
	return false
}

// one is the result of a translation that gives a single event.
func one(kind event.Kind, data any) ([]event.Fact, bool) {
	return []event.Fact{{Kind: kind, Data: data}}, true
}

// at is the time of an event, or of its processing when it names none.
func (t translator) at(when time.Time) event.Time {
	if when.IsZero() || when.Unix() <= 0 {
		when = t.now
	}
	return event.At(when)
}

// jid is how a payload with a single field names a chat or a person: by the
// phone JID when it is known, else as WhatsApp does; empty for no address.
func (t translator) jid(j types.JID) string {
	preferred, _ := t.both(j, types.EmptyJID)
	return preferred
}

// both returns the preferred address of a chat or person, and its LID when it
// is known. alt is the other form, if WhatsApp told it.
func (t translator) both(j, alt types.JID) (preferred, lid string) {
	if j = person(j); j.User == "" {
		return "", ""
	}
	if !isPerson(j) {
		return j.String(), ""
	}
	p, l := phoneAndLID(j, alt, t.twin)
	if p != nil {
		preferred = *p
	}
	if l != nil {
		lid = *l
	}
	return preferred, lid
}

// phone returns the phone JID of a person, empty when it is unknown.
func (t translator) phone(j types.JID) string {
	preferred, lid := t.both(j, types.EmptyJID)
	if preferred == lid {
		return ""
	}
	return preferred
}

// isOwn tells whether an address is the account's own.
func (t translator) isOwn(j types.JID) bool {
	j = j.ToNonAD()
	return j.User != "" && (j == t.own.jid.ToNonAD() || j == t.own.lid.ToNonAD())
}

// action turns the fields of an app state action into the extra keys of a
// payload; a missing action has none.
func action(m interface{ ProtoReflect() protoreflect.Message }) event.Extra {
	r := m.ProtoReflect()
	if !r.IsValid() {
		return nil
	}
	extra := event.Extra{}
	r.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		w := jsonWriter{}
		w.field(f, v, 0)
		extra[lowerCamel(string(f.Name()))] = json.RawMessage(w.buf)
		return true
	})
	return extra
}

// attribute is a textual attribute of a node that may be missing altogether.
func attribute(n *wabinary.Node, key string) string {
	if n == nil {
		return ""
	}
	text, _ := n.Attrs[key].(string)
	return text
}

// nodeText is the text of a node without children.
func nodeText(n *wabinary.Node) string {
	switch c := n.Content.(type) {
	case []byte:
		return string(c)
	case string:
		return c
	default:
		return ""
	}
}
