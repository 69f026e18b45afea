package openapi

import (
	"maps"
	"reflect"
	"slices"
)

// Fields describes fields by "Component.field", and by "field" alone for a name with the same meaning
// everywhere. "?name" is a query parameter, "{name}" a path parameter, and "Form.name" a field of any
// multipart body.
type Fields map[string]Field

// Field is the part of a field's description that its type cannot express.
type Field struct {
	About   string
	Example any    // nil: none
	Rules   Object // words of JSON Schema
}

// Say makes a Field. It is called some 600 times in tables that are read once: when it and the rules
// below were inlined there, the program was 0.2 MB larger.
//
//go:noinline
func Say(about string, example any, rules ...Object) Field {
	f := Field{about, example, nil}
	if len(rules) > 0 {
		f.Rules = Object{}
	}
	for _, r := range rules {
		maps.Copy(f.Rules, r)
	}
	return f
}

// Chars sets the length of a string in characters.
//
//go:noinline
func Chars(least, most int) Object {
	o := Object{"maxLength": most}
	if least > 0 {
		o["minLength"] = least
	}
	return o
}

// AtLeastChars sets the minimum length of a string that is otherwise bounded only by the body.
//
//go:noinline
func AtLeastChars(n int) Object { return Object{"minLength": n} }

// Range sets the bounds of a number, both inclusive.
func Range[N int | int64 | float64](least, most N) Object {
	return Object{"minimum": least, "maximum": most}
}

// AtLeast sets the minimum of a number.
//
//go:noinline
func AtLeast(n int) Object { return Object{"minimum": n} }

// Items sets the number of entries that a list may have.
func Items(least, most int) Object {
	o := Object{"maxItems": most}
	if least > 0 {
		o["minItems"] = least
	}
	return o
}

// OneOf lists all possible values.
//
//go:noinline
func OneOf[S ~string](values ...S) Object {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return Object{"enum": all}
}

// Format sets the format of a string.
//
//go:noinline
func Format(name string) Object { return Object{"format": name} }

// Pattern sets a regular expression for a string.
func Pattern(re string) Object { return Object{"pattern": re} }

// Default sets the value that an absent field means.
func Default(v any) Object { return Object{"default": v} }

// Kind sets the type of a value whose Go type is raw JSON or text.
func Kind(name string) Object { return Object{"type": name} }

// As sets the type, in the form of requests, of a value whose Go type is raw JSON.
func As[T any]() Object { return Object{asType: reflect.TypeFor[T]()} }

// OrNull marks a value that may be null although its Go type cannot.
func OrNull() Object { return Object{mayBeNull: true} }

// Required marks a required query parameter.
func Required() Object { return Object{mustBeThere: true} }

// Keywords of rules that are not part of JSON Schema.
const (
	asType      = "x-as"
	mayBeNull   = "x-null"
	mustBeThere = "x-required"
)

// explain adds a field's description to its schema.
func (f Field) explain(s Object) {
	if f.About != "" {
		s["description"] = f.About
	}
	if f.Example != nil {
		s["examples"] = []any{f.Example}
	}
	nullable := false
	if kinds, ok := s["type"].([]any); ok {
		nullable = slices.Contains(kinds, any("null"))
	}
	for word, v := range f.Rules {
		switch {
		case word == asType || word == mayBeNull:
			continue
		case word == "type" && nullable:
			v = []any{v, "null"}
		case word == "enum" && nullable:
			v = append(slices.Clone(v.([]any)), nil)
		}
		s[word] = v
	}
}
