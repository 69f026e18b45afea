package translate

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Rebuild is the reverse of translation: it builds a message from a stored messageType
// and content. What the translation omitted, such as wrappers, is not restored. Fields that
// the schema does not have are skipped: they may be of another version of it.
func Rebuild(messageType string, content json.RawMessage) (*waE2E.Message, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(content, &fields); err != nil {
		return nil, fmt.Errorf("the content of a message: %w", err)
	}
	m := &waE2E.Message{}
	if messageType == unknownType {
		raw, err := bytesOf(fields["protobuf"])
		if err != nil {
			return nil, err
		}
		return m, proto.Unmarshal(raw, m)
	}
	r := m.ProtoReflect()
	all := contentFields(r.Descriptor())
	for i := range all {
		f := &all[i]
		if f.name != messageType || f.rider {
			continue
		}
		return m, f.rebuild(r, fields, content)
	}
	return nil, fmt.Errorf("messageType %q is unknown to this version", messageType)
}

// rebuild sets the content field of a message.
func (f *contentField) rebuild(m protoreflect.Message, fields map[string]json.RawMessage, content json.RawMessage) error {
	if f.Message() == nil || f.Cardinality() == protoreflect.Repeated {
		key := "value"
		if f.name == "conversation" {
			key = "text"
		}
		content = fields[key]
	}
	return f.set(m, content, 0)
}

// set decodes the JSON of a field into m.
func (f *contentField) set(m protoreflect.Message, raw json.RawMessage, depth int) error {
	if len(raw) == 0 || depth > maxDepth {
		return nil
	}
	switch {
	case f.IsMap():
		return nil // content that can be sent has none
	case f.IsList():
		return f.setList(m, raw, depth)
	case f.Message() != nil:
		return readMessage(m.Mutable(f.FieldDescriptor).Message(), raw, depth+1)
	}
	v, err := scalarOf(f.FieldDescriptor, raw)
	if err == nil && v.IsValid() {
		m.Set(f.FieldDescriptor, v)
	}
	return err
}

func (f *contentField) setList(m protoreflect.Message, raw json.RawMessage, depth int) error {
	var elements []json.RawMessage
	if err := json.Unmarshal(raw, &elements); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	list := m.Mutable(f.FieldDescriptor).List()
	for _, e := range elements {
		if f.Message() != nil {
			if err := readMessage(list.AppendMutable().Message(), e, depth+1); err != nil {
				return err
			}
			continue
		}
		v, err := scalarOf(f.FieldDescriptor, e)
		if err != nil {
			return err
		}
		if v.IsValid() {
			list.Append(v)
		}
	}
	return nil
}

func readMessage(m protoreflect.Message, raw json.RawMessage, depth int) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("%s: %w", m.Descriptor().Name(), err)
	}
	all := contentFields(m.Descriptor())
	for i := range all {
		f := &all[i]
		if value, given := fields[f.name]; given {
			if err := f.set(m, value, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// scalarOf decodes a value written by jsonWriter.scalar. The name of an unknown enum
// value gives no value.
func scalarOf(f protoreflect.FieldDescriptor, raw json.RawMessage) (protoreflect.Value, error) {
	v, err := readScalar(f, raw)
	if err != nil {
		return v, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return v, nil
}

func readScalar(f protoreflect.FieldDescriptor, raw json.RawMessage) (v protoreflect.Value, err error) {
	switch f.Kind() {
	case protoreflect.BoolKind:
		var b bool
		err = json.Unmarshal(raw, &b)
		return protoreflect.ValueOfBool(b), err
	case protoreflect.StringKind:
		var s string
		err = json.Unmarshal(raw, &s)
		return protoreflect.ValueOfString(s), err
	case protoreflect.BytesKind:
		b, err := bytesOf(raw)
		return protoreflect.ValueOfBytes(b), err
	case protoreflect.EnumKind:
		return readEnum(f.Enum(), raw)
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return readFloat(f.Kind(), raw)
	default:
		return readInteger(f.Kind(), raw)
	}
}

func readEnum(e protoreflect.EnumDescriptor, raw json.RawMessage) (v protoreflect.Value, err error) {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		if value := e.Values().ByName(protoreflect.Name(name)); value != nil {
			v = protoreflect.ValueOfEnum(value.Number())
		}
		return v, nil
	}
	var n int32
	err = json.Unmarshal(raw, &n)
	return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)), err
}

func readFloat(kind protoreflect.Kind, raw json.RawMessage) (protoreflect.Value, error) {
	f, err := strconv.ParseFloat(unquoted(raw), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return protoreflect.Value{}, err
	}
	if kind == protoreflect.FloatKind {
		return protoreflect.ValueOfFloat32(float32(f)), nil
	}
	return protoreflect.ValueOfFloat64(f), nil
}

func readInteger(kind protoreflect.Kind, raw json.RawMessage) (v protoreflect.Value, err error) {
	text := unquoted(raw)
	switch kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n, err := strconv.ParseInt(text, 10, 64)
		return protoreflect.ValueOfInt64(n), err
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		n, err := strconv.ParseUint(text, 10, 64)
		return protoreflect.ValueOfUint64(n), err
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		n, err := strconv.ParseInt(text, 10, 32)
		return protoreflect.ValueOfInt32(int32(max(math.MinInt32, min(math.MaxInt32, n)))), err
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		n, err := strconv.ParseUint(text, 10, 32)
		return protoreflect.ValueOfUint32(uint32(min(math.MaxUint32, n))), err
	default:
		return v, nil
	}
}

// unquoted returns the text of a number, which JSON quotes if it has 64 bits.
func unquoted(raw json.RawMessage) string {
	if n := len(raw); n >= 2 && raw[0] == '"' && raw[n-1] == '"' {
		return string(raw[1 : n-1])
	}
	return string(raw)
}

func bytesOf(raw json.RawMessage) ([]byte, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}
