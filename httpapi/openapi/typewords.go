package openapi

import (
	"fmt"
	"slices"
	"strings"
)

// typeOf describes a schema in a few words.
func typeOf(s Object) []typePart {
	if name := refName(s); name != "" {
		return []typePart{{Text: name, Ref: name}}
	}
	if shapes, ok := s["oneOf"].([]any); ok {
		var all []typePart
		for i, shape := range shapes {
			if i > 0 {
				all = append(all, typePart{Text: " or "})
			}
			all = append(all, typeOf(shape.(Object))...)
		}
		return all
	}
	if parts, ok := s["allOf"].([]any); ok { // a component, and what holds besides
		return typeOf(parts[0].(Object))
	}
	if c, ok := s["const"]; ok {
		return []typePart{{Text: fmt.Sprintf("%q", c)}}
	}
	kinds := kindsOf(s)
	var all []typePart
	for i, kind := range kinds {
		if i > 0 {
			all = append(all, typePart{Text: " or "})
		}
		items, ok := s["items"].(Object)
		if kind == "array" && ok {
			all = append(append(all, typePart{Text: "array of "}), typeOf(items)...)
			continue
		}
		all = append(all, typePart{Text: kind})
	}
	if rules := rulesOf(s); rules != "" {
		all = append(all, typePart{Text: ", " + rules})
	}
	return all
}

func kindsOf(s Object) []string {
	switch kind := s["type"].(type) {
	case string:
		return []string{kind}
	case []any:
		var all []string
		for _, k := range kind {
			all = append(all, fmt.Sprint(k))
		}
		return all
	}
	return []string{"any"}
}

// rulesOf describes the limits of a schema in words.
func rulesOf(s Object) string {
	var all []string
	if format := text(s, "format"); format != "" && format != "binary" {
		all = append(all, format)
	}
	between := func(least, most, unit string) {
		low, hasLow := s[least]
		high, hasHigh := s[most]
		switch {
		case hasLow && hasHigh:
			all = append(all, fmt.Sprintf("%v to %v%s", low, high, unit))
		case hasHigh:
			all = append(all, fmt.Sprintf("at most %v%s", high, unit))
		case least == "minLength" && low == 1.0:
			all = append(all, "not empty")
		case hasLow && low != 0.0:
			all = append(all, fmt.Sprintf("at least %v%s", low, unit))
		}
	}
	between("minLength", "maxLength", " characters")
	between("minItems", "maxItems", " entries")
	between("minimum", "maximum", "")
	if pattern := text(s, "pattern"); pattern != "" {
		all = append(all, pattern)
	}
	if values, ok := s["enum"].([]any); ok {
		values = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = fmt.Sprint(v)
		}
		all = append(all, "one of "+strings.Join(words, ", "))
	}
	return strings.Join(all, "; ")
}

// plain returns a type without links.
func plain(parts []typePart) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
