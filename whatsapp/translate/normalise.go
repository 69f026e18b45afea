package translate

import (
	"encoding/json"
	"slices"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxWrappers is how many wrappers are removed from a message. Real messages have two
// or three; a hostile one could have thousands.
const maxWrappers = 8

// unknownType is the messageType of a message that only a later version of the schema
// defines.
const unknownType = "unknown"

// unwrapped is a message without its wrappers.
type unwrapped struct {
	message  *waE2E.Message
	wrappers []string // names of the removed fields, the outermost first
	edited   bool     // it replaces an earlier message
	editOf   string   // key id of the replaced message
	parent   *waE2E.MessageAssociation
}

// contentOf returns the name of the field that holds the content of a message without
// wrappers, in lower camel case, and that field as a JSON object. Plain text becomes an
// object with the key "text", another scalar or list one with the key "value". ok is false
// for a message without content, such as a bare sender-key distribution.
func contentOf(m *waE2E.Message) (name string, w jsonWriter, ok bool) {
	if m == nil {
		return "", w, false
	}
	r := m.ProtoReflect()
	fields := contentFields(r.Descriptor())
	for i := range fields {
		f := &fields[i]
		if f.rider || !r.Has(f.FieldDescriptor) {
			continue
		}
		w.object(f, r.Get(f.FieldDescriptor))
		return f.name, w, true
	}
	if unknown := r.GetUnknown(); len(unknown) > 0 {
		w.unknown(unknown)
		return unknownType, w, true
	}
	return "", w, false
}

// object writes a field's value as an object.
func (w *jsonWriter) object(f *contentField, v protoreflect.Value) {
	if f.Message() != nil && f.Cardinality() != protoreflect.Repeated {
		w.message(v.Message(), 0)
		return
	}
	key := "value"
	if f.name == "conversation" {
		key = "text"
		w.buf = make([]byte, 0, len(v.String())+len(`{"text":""}`))
	}
	w.raw(`{"`)
	w.raw(key)
	w.raw(`":`)
	w.field(f.FieldDescriptor, v, 0)
	w.raw("}")
}

// unknown writes fields that the schema does not have: their numbers and their encoded
// bytes.
func (w *jsonWriter) unknown(fields protoreflect.RawFields) {
	var numbers []int
	for rest := fields; len(rest) > 0 && len(numbers) < maxDepth; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		if !slices.Contains(numbers, int(number)) {
			numbers = append(numbers, int(number))
		}
		rest = rest[n:]
	}
	slices.Sort(numbers)
	w.raw(`{"fields":`)
	list, err := json.Marshal(numbers)
	if err != nil || numbers == nil {
		list = []byte("[]")
	}
	w.buf = append(w.buf, list...)
	w.raw(`,"protobuf":`)
	w.bytes(fields)
	w.raw("}")
}

// unwrap removes the wrappers that determine how a message is shown or sent, and the
// envelope of an edit: the new message inside a protocol message.
func unwrap(m *waE2E.Message) unwrapped {
	u := unwrapped{message: m}
	for range maxWrappers {
		if a := u.message.GetMessageContextInfo().GetMessageAssociation(); u.parent == nil {
			u.parent = a
		}
		if !u.takeOff() {
			break
		}
	}
	return u
}

// takeOff removes one wrapper, and returns false if there is none.
func (u *unwrapped) takeOff() bool {
	if u.message == nil {
		return false
	}
	if p := u.message.GetProtocolMessage(); p.GetType() == waE2E.ProtocolMessage_MESSAGE_EDIT && p.GetEditedMessage() != nil {
		u.message, u.edited, u.editOf = p.GetEditedMessage(), true, keyID(p.GetKey())
		return true
	}
	r := u.message.ProtoReflect()
	fields := contentFields(r.Descriptor())
	for i := range fields {
		f := &fields[i]
		if !f.wrapper || !r.Has(f.FieldDescriptor) {
			continue
		}
		inner := wrappedIn(r.Get(f.FieldDescriptor).Message())
		if inner == nil {
			continue // an empty wrapper is itself the content
		}
		u.message = inner
		u.wrappers = append(u.wrappers, f.name)
		return true
	}
	return false
}

func wrappedIn(wrapper protoreflect.Message) *waE2E.Message {
	switch w := wrapper.Interface().(type) {
	case *waE2E.FutureProofMessage:
		return w.GetMessage()
	case *waE2E.DeviceSentMessage:
		return w.GetMessage()
	}
	return nil
}
