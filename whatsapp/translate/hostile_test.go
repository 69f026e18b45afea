package translate

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func truncatedIn(t *testing.T, metadata json.RawMessage) bool {
	t.Helper()
	var md struct{ Truncated bool }
	if metadata == nil {
		return false
	}
	if err := json.Unmarshal(metadata, &md); err != nil {
		t.Fatal(err)
	}
	return md.Truncated
}

func TestContentIsCutAtItsLimit(t *testing.T) {
	captioned := func(caption string) *waE2E.Message {
		return &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Caption: &caption, Mimetype: new("image/jpeg")}}
	}
	contacts := &waE2E.ContactsArrayMessage{}
	for range 2_000_000 {
		contacts.Contacts = append(contacts.Contacts, nil)
	}
	for name, tc := range map[string]struct {
		m   *waE2E.Message
		cut bool
	}{
		"three megabytes":                {captioned(strings.Repeat("x", 3<<20)), false},
		"two megabytes on lines":         {captioned(strings.Repeat("x\n", 1<<20)), false},
		"ten megabytes":                  {captioned(strings.Repeat("x", 10<<20)), true},
		"ten megabytes of umlauts":       {captioned(strings.Repeat("ü", 5<<20)), true},
		"ten megabytes, an odd start":    {captioned("x" + strings.Repeat("ü", 5<<20)), true},
		"ten megabytes of text":          {text(strings.Repeat("x", 10<<20)), true},
		"two megabytes of control codes": {captioned(strings.Repeat("\x01", 2<<20)), true},
		"three megabytes of no text":     {captioned(strings.Repeat("\xff", 3<<20)), true},
		"a preview of ten megabytes":     {&waE2E.Message{ImageMessage: &waE2E.ImageMessage{JPEGThumbnail: make([]byte, 10<<20)}}, true},
		"two million contacts":           {&waE2E.Message{ContactsArrayMessage: contacts}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := reported(t, fromAnne(tc.m))
			if n := len(m.Content); n > maxContent+1<<10 {
				t.Errorf("%d bytes", n)
			}
			if got := truncatedIn(t, m.Metadata); got != tc.cut {
				t.Errorf("truncated is %v in %d bytes", got, len(m.Content))
			}
			if broken := bytes.Contains(m.Content, []byte(`\ufffd`)); broken && name != "three megabytes of no text" {
				t.Error("cut within a character")
			}
		})
	}
}

func TestTextIsCutAfterEscaping(t *testing.T) {
	for _, unit := range []string{"x", "ü", "\"", "\x01", "\xff"} {
		m := reported(t, fromAnne(text(strings.Repeat(unit, 10<<20/len(unit)))))
		if len(m.Content) < maxContent-64 {
			t.Errorf("%q: only %d bytes are left", unit, len(m.Content))
		}
	}
}

func TestAnEventWithoutAMessageIsNone(t *testing.T) {
	for name, evt := range map[string]*events.Message{
		"nothing":        {},
		"an empty one":   {Message: &waE2E.Message{}, RawMessage: &waE2E.Message{}},
		"wrapped empty":  fromAnne(&waE2E.Message{EphemeralMessage: wrapped(&waE2E.Message{})}),
		"only a context": fromAnne(&waE2E.Message{MessageContextInfo: &waE2E.MessageContextInfo{MessageSecret: []byte("s")}}),
		"only keys":      fromAnne(&waE2E.Message{GroupRootKeyShare: &waE2E.GroupRootKeyShare{}}),
		"key share":      fromAnne(protocol(waE2E.ProtocolMessage_APP_STATE_SYNC_KEY_SHARE)),
		"sent key share": fromAnne(&waE2E.Message{DeviceSentMessage: &waE2E.DeviceSentMessage{
			Message: &waE2E.Message{EphemeralMessage: wrapped(protocol(waE2E.ProtocolMessage_HISTORY_SYNC_NOTIFICATION))},
		}}),
	} {
		if f, ok := testTranslator().Message(nil, evt); ok {
			t.Errorf("%s: reported %+v", name, f.Data)
		}
	}
	peer := fromAnne(text("x"))
	peer.Info.Category = "peer"
	if _, ok := testTranslator().Message(nil, peer); ok {
		t.Error("a message between own devices is reported")
	}
}

func protocol(kind waE2E.ProtocolMessage_Type) *waE2E.Message {
	return &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{Type: &kind}}
}

func TestBrokenMessagesFitTheSchema(t *testing.T) {
	for name, m := range map[string]*waE2E.Message{
		"nil parts of lists":  {ContactsArrayMessage: &waE2E.ContactsArrayMessage{Contacts: []*waE2E.ContactMessage{nil, {}, nil}}},
		"revoke of nothing":   protocol(waE2E.ProtocolMessage_REVOKE),
		"edit of nothing":     protocol(waE2E.ProtocolMessage_MESSAGE_EDIT),
		"no type, no key":     {ProtocolMessage: &waE2E.ProtocolMessage{}},
		"broken text in keys": {ProtocolMessage: &waE2E.ProtocolMessage{Key: &waCommon.MessageKey{ID: new("\xff\x00\"")}}},
		"empty parent":        {Conversation: new(""), MessageContextInfo: &waE2E.MessageContextInfo{MessageAssociation: &waE2E.MessageAssociation{}}},
	} {
		t.Run(name, func(t *testing.T) {
			evt := fromAnne(m)
			evt.Info.ID, evt.Info.PushName = "\xff", "\xff\x00\u2028"
			evt.Info.Sender = types.JID{User: "\xff", Server: "\"", Device: 9}
			reported(t, evt)
		})
	}
}

// FuzzNormalise takes any bytes as a message from any sender: there is no panic, the
// content is an object, and the payload fits its schema.
func FuzzNormalise(f *testing.F) {
	for _, source := range contents() {
		var m waE2E.Message
		if err := prototext.Unmarshal([]byte(source), &m); err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(&m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, []byte{})
		f.Add(b, []byte("\x03abc\x03\x01\x01\x04\xff\x00\"\\"))
	}
	f.Add([]byte{0xfa, 0x7f, 0x02, 'h', 'i'}, []byte{1})
	f.Fuzz(func(t *testing.T, b, where []byte) {
		m := &waE2E.Message{}
		if (proto.UnmarshalOptions{}).Unmarshal(b, m) != nil {
			return
		}
		var evt events.Message
		fill := filler{raw: where}
		evt.Info.Chat, evt.Info.Sender, evt.Info.SenderAlt, evt.Info.RecipientAlt = fill.jid(), fill.jid(), fill.jid(), fill.jid()
		evt.Info.IsFromMe, evt.Info.ID, evt.Info.PushName = fill.byte()&1 == 1, fill.text(), fill.text()
		evt.RawMessage = m
		fact, ok := testTranslator().Message(nil, evt.UnwrapRaw())
		if !ok {
			return
		}
		checkFact(t, fact)
		kind, content, ok := normalise(m)
		if !ok || kind == "" || !bytes.HasPrefix(content, []byte("{")) || !json.Valid(content) {
			t.Fatalf("type %q, content %s", kind, content)
		}
	})
}

func TestOversizedIDIsOmittedFromMetadata(t *testing.T) {
	key := &waCommon.MessageKey{ID: new(strings.Repeat("\x01", 3<<20))}
	edit := &waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: key}
	withText := proto.CloneOf(edit)
	withText.EditedMessage = text("x")
	for name, m := range map[string]*waE2E.Message{
		"revocation": {ProtocolMessage: &waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_REVOKE.Enum(), Key: key}},
		"edit":       {ProtocolMessage: withText},
		"empty edit": {ProtocolMessage: edit},
		"sealed edit": {SecretEncryptedMessage: &waE2E.SecretEncryptedMessage{
			SecretEncType: waE2E.SecretEncryptedMessage_MESSAGE_EDIT.Enum(), TargetMessageKey: key,
		}},
		"part of an album": {Conversation: new("x"), MessageContextInfo: &waE2E.MessageContextInfo{
			MessageAssociation: &waE2E.MessageAssociation{ParentMessageKey: key},
		}},
	} {
		if n := len(reported(t, fromAnne(m)).Metadata); n > 1<<10 {
			t.Errorf("%s: metadata of %d bytes", name, n)
		}
	}
}
