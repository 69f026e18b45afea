package whatsapp

import (
	"encoding/json"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxWrappers is how many wrappers are taken off a message. Real ones have
// two or three; a hostile one could have thousands.
const maxWrappers = 8

// normalise returns the name of the field that makes a message what it is,
// in lower camel case, and that field as JSON: always an object. ok is false
// for a message without content, such as a bare sender-key distribution.
func normalise(m *waE2E.Message) (name string, content json.RawMessage, ok bool) {
	m = unwrap(m)
	if m == nil {
		return "", nil, false
	}
	r := m.ProtoReflect()
	fields := r.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !r.Has(f) || carriesNoContent(f.Name()) {
			continue
		}
		name = lowerCamel(string(f.Name()))
		w := jsonWriter{}
		if f.Message() != nil && f.Cardinality() != protoreflect.Repeated {
			w.message(r.Get(f).Message(), 0)
			return name, w.buf, true
		}
		key := "value"
		if name == "conversation" {
			key = "text"
		}
		w.raw("{")
		w.text(key)
		w.raw(":")
		w.field(f, r.Get(f), 0)
		w.raw("}")
		return name, w.buf, true
	}
	return "", nil, false
}

// carriesNoContent names the fields that ride along with any message.
func carriesNoContent(f protoreflect.Name) bool {
	switch f {
	case "senderKeyDistributionMessage", "fastRatchetKeySenderKeyDistributionMessage", "messageContextInfo":
		return true
	}
	return false
}

// unwrap takes off the wrappers that say how a message is shown or sent.
func unwrap(m *waE2E.Message) *waE2E.Message {
	for range maxWrappers {
		inner := inside(m)
		if inner == nil {
			return m
		}
		m = inner
	}
	return m
}

func inside(m *waE2E.Message) *waE2E.Message {
	if inner := m.GetDeviceSentMessage().GetMessage(); inner != nil {
		return inner
	}
	for _, w := range []*waE2E.FutureProofMessage{
		m.GetEphemeralMessage(),
		m.GetViewOnceMessage(),
		m.GetViewOnceMessageV2(),
		m.GetViewOnceMessageV2Extension(),
		m.GetDocumentWithCaptionMessage(),
		m.GetEditedMessage(),
		m.GetBotInvokeMessage(),
		m.GetLottieStickerMessage(),
		m.GetGroupMentionedMessage(),
	} {
		if inner := w.GetMessage(); inner != nil {
			return inner
		}
	}
	return nil
}
