package openapi

import (
	"maps"
	"reflect"
	"slices"
)

// Fields explains fields by "Component.field", and by "field" alone for a name
// that means the same wherever it stands. "?name" is a query parameter,
// "{name}" one of a path, and "Form.name" a field of any multipart body.
type Fields map[string]Field

// Field is what a type cannot say.
type Field struct {
	About   string
	Example any    // nil: none
	Rules   Object // words of JSON Schema
}

// Say makes a Field. It is called some 600 times in tables that are read once:
// inlined there, it and the rules below made the program 0.2 MB larger.
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

// Chars is the length of a string in characters.
//
//go:noinline
func Chars(least, most int) Object {
	o := Object{"maxLength": most}
	if least > 0 {
		o["minLength"] = least
	}
	return o
}

// AtLeastChars is the least length of a string that has no other bound than
// that of the body.
//
//go:noinline
func AtLeastChars(n int) Object { return Object{"minLength": n} }

// Range is what a number lies within, the bounds included.
func Range[N int | int64 | float64](least, most N) Object {
	return Object{"minimum": least, "maximum": most}
}

// AtLeast is the least that a number may be.
//
//go:noinline
func AtLeast(n int) Object { return Object{"minimum": n} }

// Items is how many entries a list may have.
func Items(least, most int) Object {
	o := Object{"maxItems": most}
	if least > 0 {
		o["minItems"] = least
	}
	return o
}

// OneOf is all values that there are.
//
//go:noinline
func OneOf[S ~string](values ...S) Object {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return Object{"enum": all}
}

// Format names the form of a string.
//
//go:noinline
func Format(name string) Object { return Object{"format": name} }

// Pattern is a regular expression for a string.
func Pattern(re string) Object { return Object{"pattern": re} }

// Default is what an absent field means.
func Default(v any) Object { return Object{"default": v} }

// Kind is the type of a value whose Go type is raw JSON or text.
func Kind(name string) Object { return Object{"type": name} }

// As is the type that a value has whose Go type is raw JSON, as requests have
// it.
func As[T any]() Object { return Object{asType: reflect.TypeFor[T]()} }

// OrNull marks a value that may be null although its Go type cannot.
func OrNull() Object { return Object{mayBeNull: true} }

// Required marks a query parameter that must be there.
func Required() Object { return Object{mustBeThere: true} }

// Words of rules that are none of JSON Schema.
const (
	asType      = "x-as"
	mayBeNull   = "x-null"
	mustBeThere = "x-required"
)

// explain puts the words about a field into its schema.
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
