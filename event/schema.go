package event

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of the whole body of an
// event, nil when there is no such event. It is made from the payload types
// themselves, so that it cannot say anything else than they do:
//
//   - A field without omitempty and omitzero is required.
//   - A required pointer may be null; nothing else may, unless its tag
//     schema:"null" says so.
//   - An object takes no other keys than its fields, unless it has an [Extra].
//   - String types with constants are enumerations.
//
// The tag's other words are "object" for raw JSON, "uuid", "percent" and
// "const=…". The result is the caller's own.
func Schema(kind Kind) map[string]any {
	d, ok := Lookup(kind)
	if !ok {
		return nil
	}
	data := dataSchema(kind)
	if d.Array {
		data = object{"type": "array", "items": data, "minItems": 1}
	}
	var envelope object
	if d.Family == Instance {
		envelope = schemaOf(reflect.TypeFor[instanceEnvelope]())
	} else {
		envelope = schemaOf(reflect.TypeFor[batchEnvelope]())
	}
	properties := propertiesOf(envelope)
	properties["event"], properties["data"] = object{"const": string(kind)}, data
	if kind == QRCodeUpdated {
		fix(properties["instance"].(object), "connectionStatus", string(QRCodeState))
	}
	envelope["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	envelope["title"] = string(kind)
	return envelope
}

// SchemaJSON returns [Schema] as indented JSON with sorted keys, null when
// there is no such event.
func SchemaJSON(kind Kind) ([]byte, error) {
	return json.MarshalIndent(Schema(kind), "", "  ")
}

// TypeSchema returns the JSON Schema of a Go type by the same rules, for
// interfaces that describe more than events. The result is the caller's own.
func TypeSchema(t reflect.Type) map[string]any { return schemaOf(t) }

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
func fix(o object, name, value string) {
	propertiesOf(o)[name] = object{"const": value}
	require(o, name)
}

// notNull is any JSON value but null.
func notNull() object {
	return object{"type": []string{"array", "boolean", "number", "object", "string"}}
}

func schemaOf(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[Attributes]():
		return object{"type": "object"}
	case reflect.TypeFor[Extra]():
		return object{"type": "object", "additionalProperties": notNull()}
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return object{}
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && t.Kind() == reflect.Array {
		return object{"type": "string", "format": "uuid"}
	}
	if e, ok := reflect.TypeAssert[enumerated](reflect.Zero(t)); ok && t.Kind() == reflect.String {
		return object{"type": "string", "enum": e.values()}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Struct:
		return structSchema(t)
	default: // an interface: the caller knows what is in it
		return object{}
	}
}

func structSchema(t reflect.Type) object {
	properties, required := object{}, []string{}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Type == reflect.TypeFor[Extra]() && name == "-":
			o["additionalProperties"] = notNull()
			continue
		case name == "" || name == "-": // an embedded struct; its fields come by themselves
			continue
		}
		must := options == ""
		if must {
			required = append(required, name)
		}
		properties[name] = tagged(f, must && f.Type.Kind() == reflect.Pointer)
	}
	slices.Sort(required)
	o["required"] = required
	return o
}

// tagged is the schema of a field as its type and its tag say.
func tagged(f reflect.StructField, nullable bool) object {
	var s object
	tag := strings.Split(f.Tag.Get("schema"), ",")
	if slices.Contains(tag, "object") {
		s = object{"type": "object"} // raw JSON
	} else {
		s = schemaOf(f.Type)
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
