package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// ErrInvalid is wrapped by every error of Validate that is about the body.
var ErrInvalid = errors.New("event body breaks its schema")

// Validate checks the body of an event against its published schema, and that
// no object in it has a key twice. The error names the place, as in
// "data.counts.total". It is for tests and for those who receive events; the
// program does not check its own types with it at run time.
func Validate(kind Kind, body []byte) error {
	return new(Validator).Validate(kind, body)
}

// Validator is [Validate] for many events: it reads the schema of each kind
// once. The zero value is ready; it is not safe for concurrent use.
type Validator struct{ rules map[Kind]ruleset }

// Validate is the function of that name.
func (v *Validator) Validate(kind Kind, body []byte) error {
	rules, ok := v.rules[kind]
	if !ok {
		var err error
		if rules, err = rulesOf(kind); err != nil {
			return err
		}
		if v.rules == nil {
			v.rules = map[Kind]ruleset{}
		}
		v.rules[kind] = rules
	}
	if err := rules.fit(body); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, kind, err)
	}
	return nil
}

// ruleset is a schema as a reader of its JSON has it.
type ruleset object

func rulesOf(kind Kind) (ruleset, error) {
	if _, ok := Lookup(kind); !ok {
		return nil, fmt.Errorf("%w: there is no event %.100q", ErrInvalid, kind)
	}
	text, err := SchemaJSON(kind)
	if err != nil {
		return nil, err
	}
	var r ruleset
	return r, json.Unmarshal(text, &r)
}

func (r ruleset) fit(body []byte) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	value, err := readOnce(dec, "")
	if err != nil {
		return err
	}
	if err := atEnd(dec); err != nil {
		return err
	}
	return check(object(r), value, "")
}

// readOnce reads one JSON value and refuses repeated keys.
func readOnce(dec *json.Decoder, at string) (any, error) {
	token, err := next(dec)
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return readObject(dec, at)
	case json.Delim('['):
		return readArray(dec, at)
	}
	return token, nil
}

// next is the next token of a value that is not over yet.
func next(dec *json.Decoder) (json.Token, error) {
	token, err := dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return token, err
}

func atEnd(dec *json.Decoder) error {
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the body")
	}
	return nil
}

func readObject(dec *json.Decoder, at string) (any, error) {
	o := object{}
	for dec.More() {
		token, err := next(dec)
		if err != nil {
			return nil, err
		}
		key := token.(string)
		if _, twice := o[key]; twice {
			return nil, fmt.Errorf("%s is there twice", join(at, key))
		}
		if o[key], err = readOnce(dec, join(at, key)); err != nil {
			return nil, err
		}
	}
	_, err := next(dec)
	return o, err
}

func readArray(dec *json.Decoder, at string) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := readOnce(dec, index(at, len(list)))
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := next(dec)
	return list, err
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func index(at string, i int) string { return at + "[" + strconv.Itoa(i) + "]" }

// check knows the words of JSON Schema that Schema uses, and no others.
func check(rules object, v any, at string) error {
	if oneOf, ok := rules["oneOf"].([]any); ok {
		return checkOneOf(oneOf, v, at)
	}
	if not, ok := rules["not"].(object); ok && check(not, v, at) == nil {
		return fmt.Errorf("%s is %v, which it may not be", at, v)
	}
	if want, ok := rules["const"]; ok && v != want {
		return fmt.Errorf("%s is %v, not %v", at, v, want)
	}
	if types, ok := rules["type"]; ok && !typeFits(types, v) {
		return fmt.Errorf("%s is %v (%T), not of type %v", at, v, v, types)
	}
	if enum, ok := rules["enum"].([]any); ok && !slices.Contains(enum, v) {
		return fmt.Errorf("%s is %v, not one of %v", at, v, enum)
	}
	switch v := v.(type) {
	case string:
		return checkFormat(rules["format"], v, at)
	case json.Number:
		return checkRange(rules, v, at)
	case []any:
		return checkItems(rules, v, at)
	case object:
		return checkObject(rules, v, at)
	}
	return nil
}

func checkOneOf(all []any, v any, at string) error {
	var failed []error
	for _, one := range all {
		if err := check(one.(object), v, at); err != nil {
			failed = append(failed, err)
		}
	}
	if fits := len(all) - len(failed); fits != 1 {
		return fmt.Errorf("%s fits %d of %d shapes: %w", at, fits, len(all), errors.Join(failed...))
	}
	return nil
}

func typeFits(types, v any) bool {
	if several, ok := types.([]any); ok {
		return slices.ContainsFunc(several, func(t any) bool { return typeFits(t, v) })
	}
	switch v := v.(type) {
	case nil:
		return types == "null"
	case bool:
		return types == "boolean"
	case string:
		return types == "string"
	case []any:
		return types == "array"
	case object:
		return types == "object"
	case json.Number:
		_, err := v.Int64()
		return types == "number" || types == "integer" && err == nil
	}
	return false
}

func checkFormat(format any, s, at string) error {
	var err error
	switch format {
	case "date-time":
		_, err = time.Parse(timeLayout, s)
	case "uuid":
		err = uuid.Validate(s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

func checkRange(rules object, n json.Number, at string) error {
	least, most := rules["minimum"], rules["maximum"]
	if least == nil || most == nil {
		return nil
	}
	if f, err := n.Float64(); err != nil || f < least.(float64) || f > most.(float64) {
		return fmt.Errorf("%s is %s, not within %v and %v", at, n, least, most)
	}
	return nil
}

func checkItems(rules object, list []any, at string) error {
	if least, ok := rules["minItems"].(float64); ok && len(list) < int(least) {
		return fmt.Errorf("%s has %d items, at least %v are needed", at, len(list), least)
	}
	items, ok := rules["items"].(object)
	if !ok {
		return nil
	}
	for i, v := range list {
		if err := check(items, v, index(at, i)); err != nil {
			return err
		}
	}
	return nil
}

func checkObject(rules, o object, at string) error {
	required, _ := rules["required"].([]any)
	for _, name := range required {
		if _, ok := o[name.(string)]; !ok {
			return fmt.Errorf("%s is missing", join(at, name.(string)))
		}
	}
	properties, _ := rules["properties"].(object)
	for _, key := range slices.Sorted(maps.Keys(o)) { // the same error every time
		one, ok := properties[key].(object)
		if !ok {
			one, ok = rules["additionalProperties"].(object)
		}
		if !ok && rules["additionalProperties"] == false {
			return fmt.Errorf("%s is not in the schema", join(at, key))
		}
		if err := check(one, o[key], join(at, key)); err != nil {
			return err
		}
	}
	return nil
}
