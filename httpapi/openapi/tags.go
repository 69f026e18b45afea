package openapi

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// fieldOf returns the description of a field that its tags have, and whether they have one:
//
//	Width int `json:"width" doc:"Width in pixels." example:"1280" rules:"minimum=0,maximum=65536"`
//
// The example of a string is the text itself, that of a list its entries separated by commas, any other is JSON; $name is
// an entry of examples. The rules are keywords of JSON Schema, and null; the values of enum are separated by |. What does
// not fit into a tag, such as a rule with a constant, is in a row of [Fields].
func fieldOf(f reflect.StructField, examples map[string]string) (Field, bool) {
	about, ok := f.Tag.Lookup("doc")
	if !ok {
		return Field{}, false
	}
	field := Field{About: about, Rules: Object{}}
	if text, ok := f.Tag.Lookup("example"); ok {
		field.Example = valueOf(f.Type, text, examples)
	}
	for rule := range strings.SplitSeq(f.Tag.Get("rules"), ",") {
		word, text, _ := strings.Cut(rule, "=")
		switch word {
		case "":
		case "null":
			field.Rules[mayBeNull] = true
		case "enum":
			var all []any
			for text := range strings.SplitSeq(text, "|") {
				all = append(all, valueOf(f.Type, text, nil))
			}
			field.Rules[word] = all
		default:
			field.Rules[word] = numberOr(text)
		}
	}
	return field, true
}

// valueOf returns the value that text is for a field of type t.
func valueOf(t reflect.Type, text string, examples map[string]string) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := strings.CutPrefix(text, "$"); ok && examples[name] != "" {
		text = examples[name]
	}
	var v any
	switch {
	case t.Kind() == reflect.String:
		return text
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		all := []any{}
		for entry := range strings.SplitSeq(text, ",") {
			if entry != "" {
				all = append(all, valueOf(t.Elem(), entry, examples))
			}
		}
		return all
	case json.Unmarshal([]byte(text), &v) != nil:
		return text // of a type that is written as a string
	}
	return v
}

// numberOr returns text as a number, or as it is.
func numberOr(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return text
}
