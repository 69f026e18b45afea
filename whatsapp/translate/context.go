package translate

import (
	"errors"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

// WithContext merges info into the context of a message. A plain text becomes an
// extended text, which has one.
func WithContext(m *waE2E.Message, info *waE2E.ContextInfo) (*waE2E.Message, error) {
	if m.Conversation != nil {
		m.ExtendedTextMessage, m.Conversation = &waE2E.ExtendedTextMessage{Text: m.Conversation}, nil
	}
	inner := unwrap(m).message.ProtoReflect()
	fields := contentFields(inner.Descriptor())
	for i := range fields {
		f := &fields[i]
		if f.rider || f.Message() == nil || f.IsList() || !inner.Has(f.FieldDescriptor) {
			continue
		}
		body := inner.Mutable(f.FieldDescriptor).Message()
		place := body.Descriptor().Fields().ByName("contextInfo")
		if place == nil {
			break
		}
		proto.Merge(body.Mutable(place).Message().Interface(), info)
		return m, nil
	}
	return nil, errors.New("a message of this kind cannot quote, mention or be forwarded")
}

// ContextOf returns the context of a message, a new one if it has none.
func ContextOf(m *waE2E.Message) *waE2E.ContextInfo {
	r := m.ProtoReflect()
	fields := contentFields(r.Descriptor())
	for i := range fields {
		f := &fields[i]
		if f.rider || f.Message() == nil || f.IsList() || !r.Has(f.FieldDescriptor) {
			continue
		}
		body := r.Get(f.FieldDescriptor).Message()
		if place := body.Descriptor().Fields().ByName("contextInfo"); place != nil && body.Has(place) {
			if info, ok := body.Mutable(place).Message().Interface().(*waE2E.ContextInfo); ok {
				return info
			}
		}
	}
	return &waE2E.ContextInfo{}
}
