package translate

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"postern/internal/nesting"
)

func text(s string) *waE2E.Message { return &waE2E.Message{Conversation: new(s)} }

func wrapped(m *waE2E.Message) *waE2E.FutureProofMessage {
	return &waE2E.FutureProofMessage{Message: m}
}

func TestContentFieldGivesTypeAndContent(t *testing.T) {
	skdm := &waE2E.SenderKeyDistributionMessage{GroupID: new("1@g.us")}
	for name, tc := range map[string]struct {
		in            *waE2E.Message
		kind, content string
	}{
		"plain text": {text(`a "<b>" & ü`), "conversation", `{"text":"a \"<b>\" & ü"}`},
		"empty text": {text(""), "conversation", `{"text":""}`},
		"capitals, bytes, enums and 64 bits": {
			&waE2E.Message{ImageMessage: &waE2E.ImageMessage{
				URL: new("https://h/x"), FileSHA256: []byte{0xff, 1}, FileLength: proto.Uint64(1 << 60),
				Height: proto.Uint32(7), JPEGThumbnail: []byte("j"),
			}},
			"imageMessage",
			`{"url":"https://h/x","fileSha256":"/wE=","fileLength":"1152921504606846976","height":7,"jpegThumbnail":"ag=="}`,
		},
		"nested keys": {
			&waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{
				Key:  &waCommon.MessageKey{RemoteJID: new("1@lid"), FromMe: new(false), ID: new("A")},
				Text: new("👍"), SenderTimestampMS: proto.Int64(5),
			}},
			"reactionMessage",
			`{"key":{"remoteJid":"1@lid","fromMe":false,"id":"A"},"text":"👍","senderTimestampMs":"5"}`,
		},
		"numbers that JSON lacks": {
			&waE2E.Message{LocationMessage: &waE2E.LocationMessage{
				DegreesLatitude: new(math.NaN()), DegreesLongitude: new(-1.5),
			}},
			"locationMessage", `{"degreesLatitude":"NaN","degreesLongitude":-1.5}`,
		},
		"an enum value that the schema does not know": {
			&waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_Type(9999).Enum()}},
			"protocolMessage", `{"type":9999}`,
		},
		"an enum value": {
			&waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_REVOKE.Enum()}},
			"protocolMessage", `{"type":"REVOKE"}`,
		},
		"lists": {
			&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
				Text: new("t"), ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{"1@lid", "2@lid"}},
			}},
			"extendedTextMessage", `{"text":"t","contextInfo":{"mentionedJid":["1@lid","2@lid"]}}`,
		},
		"riders never decide": {
			&waE2E.Message{
				SenderKeyDistributionMessage: skdm,
				MessageContextInfo:           &waE2E.MessageContextInfo{MessageSecret: []byte("s")},
				ImageMessage:                 &waE2E.ImageMessage{},
			},
			"imageMessage", `{}`,
		},
		"ephemeral":   {&waE2E.Message{EphemeralMessage: wrapped(text("x"))}, "conversation", `{"text":"x"}`},
		"view once":   {&waE2E.Message{ViewOnceMessageV2: wrapped(text("x"))}, "conversation", `{"text":"x"}`},
		"edited":      {&waE2E.Message{EditedMessage: wrapped(text("x"))}, "conversation", `{"text":"x"}`},
		"device sent": {&waE2E.Message{DeviceSentMessage: &waE2E.DeviceSentMessage{Message: text("x")}}, "conversation", `{"text":"x"}`},
		"wrapper in wrapper": {
			&waE2E.Message{DeviceSentMessage: &waE2E.DeviceSentMessage{Message: &waE2E.Message{EphemeralMessage: wrapped(text("x"))}}},
			"conversation", `{"text":"x"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			kind, content, ok := normalise(tc.in)
			if !ok || kind != tc.kind {
				t.Fatalf("got type %q, %v, want %q", kind, ok, tc.kind)
			}
			if diff := cmp.Diff(tc.content, string(content)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAMessageWithoutContentIsNone(t *testing.T) {
	for name, m := range map[string]*waE2E.Message{
		"nil":   nil,
		"empty": {},
		"bare sender-key distribution": {
			SenderKeyDistributionMessage: &waE2E.SenderKeyDistributionMessage{},
			MessageContextInfo:           &waE2E.MessageContextInfo{},
		},
	} {
		if kind, _, ok := normalise(m); ok {
			t.Errorf("%s: got %q", name, kind)
		}
	}
}

func TestSchemaKeysAreLowerCamelAndUnique(t *testing.T) {
	for in, want := range map[string]string{
		"URL": "url", "JPEGThumbnail": "jpegThumbnail", "remoteJID": "remoteJid", "ID": "id", "PTT": "ptt",
		"fileEncSHA256": "fileEncSha256", "keyIDs": "keyIds", "imageURLs": "imageUrls", "conversation": "conversation",
		"responseTimestampMSString": "responseTimestampMsString", "thumbnailCDNURL": "thumbnailCdnUrl", "snake_case": "snakeCase",
	} {
		if got := lowerCamel(in); got != want {
			t.Errorf("lowerCamel(%q) = %q, want %q", in, got, want)
		}
	}
	seen := map[protoreflect.FullName]bool{}
	var walk func(protoreflect.MessageDescriptor)
	walk = func(d protoreflect.MessageDescriptor) {
		if seen[d.FullName()] {
			return
		}
		seen[d.FullName()] = true
		keys := map[string]protoreflect.Name{}
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			key := lowerCamel(string(f.Name()))
			if other, taken := keys[key]; taken {
				t.Errorf("%s: %s and %s are both %q", d.FullName(), other, f.Name(), key)
			}
			keys[key] = f.Name()
			if strings.ContainsAny(key[:1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") || !strings.EqualFold(key, strings.ReplaceAll(string(f.Name()), "_", "")) {
				t.Errorf("%s.%s became %q", d.FullName(), f.Name(), key)
			}
			if f.Message() != nil {
				walk(f.Message())
			}
		}
	}
	walk((&waE2E.Message{}).ProtoReflect().Descriptor())
	if len(seen) < 100 {
		t.Errorf("only %d message types were looked at", len(seen))
	}
}

func TestInvalidUTF8BecomesValidJSON(t *testing.T) {
	_, content, ok := normalise(text("a\xffb"))
	if want := `{"text":"a` + "\uFFFD" + `b"}`; !ok || !json.Valid(content) || unescape(t, content) != unescape(t, []byte(want)) {
		t.Errorf("got %s, want %s", content, want)
	}
}

func unescape(t *testing.T, b []byte) string {
	t.Helper()
	var v map[string]string
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v["text"]
}

func TestDeepContentIsCut(t *testing.T) {
	m := text("deep")
	for range 2000 {
		m = &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{ContextInfo: &waE2E.ContextInfo{QuotedMessage: m}}}
	}
	_, content, ok := normalise(m)
	if depth := strings.Count(string(content), "{"); !ok || !json.Valid(content) || depth > maxDepth || depth < maxDepth-1 {
		t.Errorf("got %d levels, valid %v", depth, json.Valid(content))
	}
	cards := &waE2E.InteractiveMessage{}
	for range 2000 {
		cards = &waE2E.InteractiveMessage{InteractiveMessage: &waE2E.InteractiveMessage_CarouselMessage_{CarouselMessage: &waE2E.InteractiveMessage_CarouselMessage{Cards: []*waE2E.InteractiveMessage{cards}}}}
	}
	for name, m := range map[string]*waE2E.Message{"quotes": m, "lists": {InteractiveMessage: cards}} {
		_, content, ok := normalise(m)
		if brackets := strings.Count(string(content), "{") + strings.Count(string(content), "["); !ok || !json.Valid(content) || nesting.Check(content) != nil || brackets < maxDepth-2 {
			t.Errorf("%s: %d brackets, %v", name, brackets, nesting.Check(content))
		}
	}
	for range 100 {
		m = &waE2E.Message{EphemeralMessage: wrapped(m)}
	}
	if kind, _, ok := normalise(m); !ok || kind != "ephemeralMessage" {
		t.Errorf("a hundred wrappers gave %q", kind)
	}
}
