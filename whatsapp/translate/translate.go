package translate

import (
	"encoding/json"
	"time"

	wabinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/reflect/protoreflect"

	"postern/event"
)

// Translator translates the library's account events to facts. It keeps no state and
// does not use the network, so it accepts any input. Fields that others send may be
// missing, empty or absurd.
type Translator struct {
	Other   func(types.JID) types.JID // from a phone JID to its LID and back, empty if unknown
	Own     Account
	Now     time.Time
	Offline bool   // the event was queued while the instance was offline
	Source  string // of messages that did not just arrive
}

// Facts translates one event, which may result in several facts. ok is false if the
// type is unknown; a known event may have no facts.
func (t Translator) Facts(evt any) (facts []event.Fact, ok bool) {
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

// silent reports the events without facts: transport measurements of calls, and the
// steps of a pairing by passkey, which the pairing itself reports.
func silent(evt any) bool {
	switch evt.(type) {
	case *events.CallTransport, *events.CallRelayLatency,
		*events.PairPasskeyRequest, *events.PairPasskeyError, *events.PairPasskeyConfirmation:
		return true
	}
	return false
}

// one returns a single fact.
func one(kind event.Kind, data any) ([]event.Fact, bool) {
	return []event.Fact{{Kind: kind, Data: data}}, true
}

// at returns the time of an event, or of its processing if it has none.
func (t Translator) at(when time.Time) event.Time {
	if when.IsZero() || when.Unix() <= 0 {
		when = t.Now
	}
	return event.At(when)
}

// jid returns the address of a chat or person for a payload with a single field: the
// phone JID if it is known, else that of WhatsApp; "" for no address.
func (t Translator) jid(j types.JID) string {
	preferred, _ := t.Both(j, types.EmptyJID)
	return preferred
}

// Both returns the preferred address of a chat or person, and its LID if known. alt is
// the other address, if WhatsApp sent it.
func (t Translator) Both(j, alt types.JID) (preferred, lid string) {
	if j = person(j); j.User == "" {
		return "", ""
	}
	if !isPerson(j) {
		return j.String(), ""
	}
	p, l := PhoneAndLID(j, alt, t.twin)
	if p != nil {
		preferred = *p
	}
	if l != nil {
		lid = *l
	}
	return preferred, lid
}

// phone returns the phone JID of a person, "" if it is unknown.
func (t Translator) phone(j types.JID) string {
	preferred, lid := t.Both(j, types.EmptyJID)
	if preferred == lid {
		return ""
	}
	return preferred
}

// IsOwn reports whether an address is the account's own.
func (t Translator) IsOwn(j types.JID) bool {
	j = j.ToNonAD()
	return j.User != "" && (j == t.Own.JID.ToNonAD() || j == t.Own.LID.ToNonAD())
}

// action returns the fields of an app state action as extra keys of a payload; nil for
// a missing action.
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

// attribute returns a text attribute of a node, either of which may be missing.
func attribute(n *wabinary.Node, key string) string {
	if n == nil {
		return ""
	}
	text, _ := n.Attrs[key].(string)
	return text
}

// nodeText returns the text of a node without children.
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
