package event

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of the whole body of an
// event, nil when there is no such event. It is derived from the payload types, so
// that it cannot differ from them:
//
//   - A field without omitempty and omitzero is required.
//   - A required pointer may be null; nothing else may, unless its tag
//     is schema:"null".
//   - An object takes no other keys than its fields, unless it has an [Extra].
//   - String types with constants are enumerations.
//
// The tag's other words are "object" for raw JSON, "uuid", "percent" and
// "const=…". The result is the caller's own.
func Schema(kind Kind) map[string]any {
	s := Schemas{}.Event(kind)
	if s != nil {
		s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	}
	return s
}

// SchemaJSON returns [Schema] as indented JSON with sorted keys, null when
// there is no such event.
func SchemaJSON(kind Kind) ([]byte, error) {
	return json.MarshalIndent(Schema(kind), "", "  ")
}

// Schemas builds schemas for documents with shared components and descriptions of
// fields. The zero value inlines every part, as [Schema] does. The results are the
// caller's own.
type Schemas struct {
	// Ref returns the schema of a type inside another schema, usually a reference; nil
	// inlines the type.
	Ref func(reflect.Type) map[string]any
	// Note adds to the schema of a field of owner.
	Note func(owner reflect.Type, field reflect.StructField, schema map[string]any)
}

// Event is the schema of the whole body of an event, nil when there is no such
// event.
func (b Schemas) Event(kind Kind) map[string]any {
	d, ok := Lookup(kind)
	if !ok {
		return nil
	}
	data := b.data(d)
	if d.Array {
		data = object{"type": "array", "items": data, "minItems": 1}
	}
	envelope := b.structure(reflect.TypeFor[batchEnvelope]())
	if d.Family == Instance {
		envelope = b.structure(reflect.TypeFor[instanceEnvelope]())
	}
	properties := propertiesOf(envelope)
	if kind == QRCodeUpdated {
		snapshot := b.structure(reflect.TypeFor[Snapshot]())
		b.fix(snapshot, "connectionStatus", string(QRCodeState))
		b.refine(properties, "instance", snapshot)
	}
	b.refine(properties, "event", object{"const": string(kind)})
	b.refine(properties, "data", data)
	envelope["title"] = string(kind)
	return envelope
}

// Type is the schema of a Go type by the same rules, inlined at its outermost level, for
// documents that describe more than events.
func (b Schemas) Type(t reflect.Type) map[string]any {
	if t.Kind() == reflect.Struct && !isWord(t) {
		return b.structure(t)
	}
	b.Ref = except(b.Ref, t)
	return b.schema(t)
}

// except is ref for all types but t.
func except(ref func(reflect.Type) map[string]any, t reflect.Type) func(reflect.Type) map[string]any {
	if ref == nil {
		return nil
	}
	return func(other reflect.Type) map[string]any {
		if other == t {
			return nil
		}
		return ref(other)
	}
}

// refine replaces the schema of a property and keeps its description.
func (b Schemas) refine(properties object, name string, s object) {
	before, _ := properties[name].(object)
	if v, ok := before["description"]; ok {
		s["description"] = v
	}
	properties[name] = s
}

// TypeSchema is [Schemas.Type] of the zero value.
func TypeSchema(t reflect.Type) map[string]any { return Schemas{}.Type(t) }

// object is a schema, or a part of one.
type object = map[string]any

func propertiesOf(o object) object { return o["properties"].(object) }

// drop removes properties and the requirement of them.
func drop(o object, names ...string) {
	for _, name := range names {
		delete(propertiesOf(o), name)
	}
	o["required"] = slices.DeleteFunc(o["required"].([]string), func(r string) bool { return slices.Contains(names, r) })
}

func require(o object, name string) {
	required := append(o["required"].([]string), name)
	slices.Sort(required)
	o["required"] = slices.Compact(required)
}

// fix makes a property required, with this value only.
func (b Schemas) fix(o object, name, value string) {
	b.refine(propertiesOf(o), name, object{"const": value})
	require(o, name)
}

// notNull is any JSON value but null.
func notNull() object {
	return object{"not": object{"type": "null"}}
}

// anyObject is an object with arbitrary fields. additionalProperties is explicit because
// generators make no type of an object without it.
func anyObject() object { return object{"type": "object", "additionalProperties": true} }

func schemaOf(t reflect.Type) object { return Schemas{}.Type(t) }

// isWord reports whether t is a struct that marshals to a JSON string.
func isWord(t reflect.Type) bool { return t == reflect.TypeFor[Time]() }

func (b Schemas) schema(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[Attributes]():
		return anyObject()
	case reflect.TypeFor[Extra]():
		return object{"type": "object", "additionalProperties": notNull()}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && t.Kind() == reflect.Array {
		return object{"type": "string", "format": "uuid"}
	}
	if t.Kind() == reflect.Pointer {
		return b.schema(t.Elem())
	}
	if b.Ref != nil {
		if ref := b.Ref(t); ref != nil {
			return ref
		}
	}
	if e, ok := reflect.TypeAssert[enumerated](reflect.Zero(t)); ok && t.Kind() == reflect.String {
		return object{"type": "string", "enum": e.values()}
	}
	return b.plain(t)
}

func (b Schemas) plain(t reflect.Type) object {
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": b.schema(t.Elem())}
	case reflect.Slice:
		return object{"type": "array", "items": b.schema(t.Elem())}
	case reflect.Struct:
		return b.structure(t)
	default: // an interface: the caller refines it
		return object{}
	}
}

func (b Schemas) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Type == reflect.TypeFor[Extra]() && name == "-":
			o["additionalProperties"] = notNull()
			continue
		case name == "" || name == "-": // an embedded struct; its fields are visible too
			continue
		}
		must := options == ""
		if must {
			required = append(required, name)
		}
		s := b.tagged(f, must && f.Type.Kind() == reflect.Pointer)
		if b.Note != nil {
			b.Note(ownerOf(t, f), f, s)
		}
		properties[name] = s
	}
	slices.Sort(required)
	o["required"] = required
	return o
}

// ownerOf is the struct that declares f: t, or one embedded in it.
func ownerOf(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// tagged is the schema of a field by its type and its tag.
func (b Schemas) tagged(f reflect.StructField, nullable bool) object {
	var s object
	tag := strings.Split(f.Tag.Get("schema"), ",")
	if slices.Contains(tag, "object") {
		s = anyObject() // raw JSON
	} else {
		s = b.schema(f.Type)
	}
	for _, word := range tag {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "const":
			s = object{"const": value}
		case "uuid":
			s["format"] = "uuid"
		case "percent":
			s["minimum"], s["maximum"] = 0, 100
		case "null":
			nullable = true
		}
	}
	if !nullable {
		return s
	}
	return orNull(s)
}

// orNull is s, or null.
func orNull(s object) object {
	if _, ok := s["$ref"]; ok {
		return object{"oneOf": []object{s, {"type": "null"}}}
	}
	s["type"] = []any{s["type"], "null"}
	if values, ok := s["enum"].([]string); ok {
		s["enum"] = nullOr(values)
	}
	return s
}

func nullOr(values []string) []any {
	all := []any{nil}
	for _, v := range values {
		all = append(all, v)
	}
	return all
}
