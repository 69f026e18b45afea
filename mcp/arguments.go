package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"postern/internal/plural"

	"github.com/google/jsonschema-go/jsonschema"
)

// Arguments are checked here before the SDK validates them against the schema: its errors
// quote regular expressions and count code points, and models do not learn from them.

// maxFaults is how many faults of one call are named.
const maxFaults = 10

// integerIDs are the arguments that name a message by its id. It is an integer
// everywhere else in the API, so an integer is accepted for the string.
var integerIDs = []string{"messageId", "replyTo", "cursor"}

// forms are the rules of the arguments that have a pattern, in words.
var forms = map[string]string{
	"instance":  "the name of an instance: 1 to 255 of the characters A-Z a-z 0-9 . _ -, not beginning with a dot",
	"instances": "the name of an instance: 1 to 255 of the characters A-Z a-z 0-9 . _ -, not beginning with a dot",
	"id":        "the id of a batch, a UUID, as start_batch returns it",
}

// arguments checks the arguments of a call. It returns them with integer ids as strings
// and without optional ones that are null, or their faults.
func (s *Server) arguments(tool string, raw json.RawMessage) (checked json.RawMessage, faults []string) {
	schema := s.inputs[tool]
	if schema == nil {
		return raw, nil // the SDK refuses a tool that does not exist
	}
	given := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return raw, []string{"the arguments must be an object with the fields " + known(schema)}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, p := given[name], schema.Properties[name]
		if p == nil {
			faults = append(faults, fmt.Sprintf("%s is not an argument of %s; it takes %s", clean(name, maxName), tool, known(schema)))
			continue
		}
		if string(value) == "null" {
			delete(given, name)
			continue
		}
		if n, ok := integer(value); ok && slices.Contains(integerIDs, name) {
			given[name] = json.RawMessage(strconv.Quote(strconv.FormatInt(n, 10)))
			continue
		}
		if fault := faultOf(name, p, value); fault != "" {
			faults = append(faults, name+" "+fault)
		}
	}
	for _, name := range schema.Required {
		if _, ok := given[name]; !ok {
			faults = append(faults, fmt.Sprintf("%s is missing: %s", name, schema.Properties[name].Description))
		}
	}
	if len(faults) > maxFaults {
		faults = append(faults[:maxFaults], fmt.Sprintf("and %d more", len(faults)-maxFaults))
	}
	checked, err := json.Marshal(given)
	if err != nil {
		return raw, append(faults, "the arguments are not JSON")
	}
	return checked, faults
}

// known lists the arguments of a tool, those that it needs first.
func known(s *jsonschema.Schema) string {
	names := slices.Clone(s.Required)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "no arguments"
	}
	return strings.Join(names, ", ")
}

// integer parses a positive JSON integer.
func integer(value json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	return n, err == nil && n > 0
}

// faultOf returns what is wrong with a value, or "".
func faultOf(name string, p *jsonschema.Schema, value json.RawMessage) string {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return "is not JSON"
	}
	switch p.Type {
	case "string":
		text, ok := v.(string)
		if !ok {
			return "must be a string in quotes, not " + kindOf(v)
		}
		return textFault(name, p, text)
	case "integer":
		return numberFault(p, v)
	case "array":
		return listFault(name, p, v)
	}
	return ""
}

func textFault(name string, p *jsonschema.Schema, text string) string {
	n := utf8.RuneCountInString(text)
	switch {
	case p.MinLength != nil && n < *p.MinLength:
		return "must not be empty"
	case p.MaxLength != nil && n > *p.MaxLength:
		return fmt.Sprintf("has %d characters; at most %d are allowed", n, *p.MaxLength)
	case p.Pattern != "" && !regexp.MustCompile(p.Pattern).MatchString(text):
		return "must be " + forms[name]
	}
	return ""
}

func numberFault(p *jsonschema.Schema, v any) string {
	n, ok := v.(float64)
	switch {
	case !ok:
		return "must be an integer without quotes, not " + kindOf(v)
	case n != math.Trunc(n):
		return "must be an integer"
	case p.Minimum != nil && p.Maximum != nil && (n < *p.Minimum || n > *p.Maximum):
		return fmt.Sprintf("must be between %.0f and %.0f", *p.Minimum, *p.Maximum)
	}
	return ""
}

func listFault(name string, p *jsonschema.Schema, v any) string {
	all, ok := v.([]any)
	switch {
	case !ok:
		return "must be an array in brackets, not " + kindOf(v)
	case p.MinItems != nil && len(all) < *p.MinItems:
		return "must not be empty"
	case p.MaxItems != nil && len(all) > *p.MaxItems:
		return fmt.Sprintf("has %s; at most %d are allowed", plural.Of(len(all), "entry"), *p.MaxItems)
	}
	for i, one := range all {
		if p.Items.Type == "object" {
			if fault := textsFault(p.Items, one); fault != "" {
				return fmt.Sprintf("has an entry %d that %s", i, fault)
			}
			continue
		}
		text, ok := one.(string)
		if !ok {
			return fmt.Sprintf("must contain strings in quotes, but entry %d is %s", i, kindOf(one))
		}
		if fault := textFault(name, p.Items, text); fault != "" {
			return fmt.Sprintf("has an entry %d that %s", i, fault)
		}
	}
	return ""
}

// textsFault is faultOf for an object whose values are strings.
func textsFault(p *jsonschema.Schema, v any) string {
	all, ok := v.(map[string]any)
	switch {
	case !ok:
		return "must be an object in braces, not " + kindOf(v)
	case len(all) > *p.MaxProperties:
		return fmt.Sprintf("has %s; at most %d are allowed", plural.Of(len(all), "field"), *p.MaxProperties)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, ok := all[name].(string); !ok {
			return fmt.Sprintf("must have strings in quotes, but %s is %s", clean(name, maxName), kindOf(all[name]))
		}
	}
	return ""
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "an array"
	case nil:
		return "null"
	}
	return "an object"
}
