package translate

import (
	armadillo "go.mau.fi/whatsmeow/proto"
	"go.mau.fi/whatsmeow/proto/instamadilloAddMessage"
	"go.mau.fi/whatsmeow/proto/instamadilloDeleteMessage"
	"go.mau.fi/whatsmeow/proto/instamadilloSupplementMessage"
	"go.mau.fi/whatsmeow/proto/waArmadilloApplication"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waConsumerApplication"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"postern/event"
)

// Messenger translates a message in the newer format of Messenger and Instagram to the form
// of other messages. ok is false if it is not a chat message.
func (t Translator) Messenger(evt *events.FBMessage) (event.Fact, bool) {
	if evt.Info.Category == "peer" {
		return event.Fact{}, false
	}
	c, ok := fbContentOf(evt.Message)
	if !ok {
		return event.Fact{}, false
	}
	c.metadata.Recovered = evt.RetryCount > 0
	return t.messageOf(&evt.Info, c.kind, c.json, c.metadata), true
}

// fbContent is the content of such a message with its metadata.
type fbContent struct {
	kind     string
	json     jsonWriter
	metadata metadata
}

// fbContentOf gives the content the type of the equivalent ordinary message: plain text
// is "conversation", a revocation a "protocolMessage", an edit its new text. Other
// content has the name of its field. Media contain a protobuf of their own, which stays
// in base64. Signals and keys between devices are no content.
func fbContentOf(m armadillo.MessageApplicationSub) (c fbContent, ok bool) {
	switch m := m.(type) {
	case *waConsumerApplication.ConsumerApplication:
		return consumerContent(m)
	case *waArmadilloApplication.Armadillo:
		return fbField(m.GetPayload().GetContent())
	case *instamadilloAddMessage.AddMessagePayload:
		return fbNamed("addMessagePayload", m)
	case *instamadilloSupplementMessage.SupplementMessagePayload:
		return fbNamed("supplementMessagePayload", m)
	case *instamadilloDeleteMessage.DeleteMessagePayload:
		return fbNamed("deleteMessagePayload", m)
	case *armadillo.Unsupported_BusinessApplication:
		return fbNamed(unknownType, (*waCommon.SubProtocol)(m))
	case *armadillo.Unsupported_PaymentApplication:
		return fbNamed(unknownType, (*waCommon.SubProtocol)(m))
	default:
		return c, false
	}
}

func consumerContent(m *waConsumerApplication.ConsumerApplication) (c fbContent, ok bool) {
	if revoke := m.GetPayload().GetApplicationData().GetRevoke(); revoke != nil {
		c, ok = fbNamed("protocolMessage", &waE2E.ProtocolMessage{
			Key: revoke.GetKey(), Type: waE2E.ProtocolMessage_REVOKE.Enum(),
		})
		c.metadata.Revoked = keyID(revoke.GetKey())
		return c, ok
	}
	content := m.GetPayload().GetContent()
	switch {
	case content.GetMessageText() != nil:
		return fbNamed("conversation", content.GetMessageText())
	case content.GetEditMessage().GetMessage() != nil:
		c, ok = fbNamed("conversation", content.GetEditMessage().GetMessage())
		c.metadata.Edited, c.metadata.EditOf = true, keyID(content.GetEditMessage().GetKey())
		return c, ok
	case content.GetViewOnceMessage() != nil:
		if c, ok = fbField(content.GetViewOnceMessage()); ok {
			c.metadata.Wrappers, c.metadata.ViewOnce = []string{"viewOnceMessage"}, true
			return c, true
		}
	}
	return fbField(content)
}

// fbField is the content of a message with a oneof.
func fbField(m proto.Message) (c fbContent, ok bool) {
	r := m.ProtoReflect()
	fields := contentFields(r.Descriptor())
	for i := range fields {
		if f := &fields[i]; r.Has(f.FieldDescriptor) {
			c.kind = f.name
			c.json.object(f, r.Get(f.FieldDescriptor))
			return c, true
		}
	}
	if unknown := r.GetUnknown(); len(unknown) > 0 {
		c.kind = unknownType
		c.json.unknown(unknown)
		return c, true
	}
	return c, false
}

// fbNamed is a whole message under a name.
func fbNamed(kind string, m interface{ ProtoReflect() protoreflect.Message }) (c fbContent, ok bool) {
	r := m.ProtoReflect()
	c.kind = kind
	c.json.message(r, 0)
	return c, r.IsValid()
}
