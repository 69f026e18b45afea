package event

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Extra holds further fields of an event, where the catalogue allows them: fields of the
// original action, flattened into the top level of data. An archive carries "archived",
// for example.
//
// Extra fields cannot break the payload. A key that differs from a declared one only in
// case is left out, whether or not the declared one is present, and so are empty keys,
// null values and values that have no JSON form or contain a number too large for a
// float64, which receivers could not read.
type Extra map[string]any

// MarshalJSON writes the object without the fields that the rules above leave out.
func (e Extra) MarshalJSON() ([]byte, error) { return flatten(struct{}{}, e) }

// flatten marshals declared, a struct without Extra, and puts the extra keys
// behind its own in alphabetical order.
func flatten(declared any, extra Extra) ([]byte, error) {
	b, err := Marshal(declared)
	if err != nil || len(extra) == 0 {
		return b, err
	}
	taken := names(reflect.TypeOf(declared))
	var out bytes.Buffer
	out.Write(b[:len(b)-1])
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		// Bytes that are not UTF-8 would be replaced when they are encoded, and
		// two keys could become one.
		name := strings.ToValidUTF8(key, "\uFFFD")
		if name == "" || slices.ContainsFunc(taken, func(n string) bool { return strings.EqualFold(n, name) }) {
			continue
		}
		value, ok := plainJSON(extra[key])
		if !ok {
			continue
		}
		taken = append(taken, name)
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		quoted, err := Marshal(name)
		if err != nil {
			return nil, err
		}
		out.Write(quoted)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// plainJSON marshals v without duplicate keys anywhere in it; it reports false
// for null, for what cannot be marshalled and for what cannot be read back.
func plainJSON(v any) ([]byte, bool) {
	b, err := Marshal(v)
	if err != nil || bytes.Equal(b, []byte("null")) {
		return nil, false
	}
	var probe any
	if json.Unmarshal(b, &probe) != nil {
		return nil, false
	}
	if b[0] != '{' && b[0] != '[' {
		return b, true
	}
	// Reading an object keeps one value of a repeated key, and reading numbers
	// as text keeps all their digits.
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if dec.Decode(&probe) != nil {
		return nil, false
	}
	b, err = Marshal(probe)
	return b, err == nil
}

// names returns the JSON names of a struct's fields, embedded ones included.
func names(t reflect.Type) []string {
	var all []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			all = append(all, name)
		}
	}
	return all
}
