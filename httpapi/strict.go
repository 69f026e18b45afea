package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"postern/event"
	"postern/nesting"
)

// required is the `strict` tag of a field that must be there. For any other
// field null means absent.
const required = "required"

// decodeError is a body that is not what the route takes. Path names the
// field, for example "recipients[3]"; it is empty for the body itself.
type decodeError struct {
	code string
	path string
	text string
	err  error // the syntax or read error behind it, if any
}

func (e *decodeError) Error() string {
	switch {
	case e.path != "":
		return event.Cut(e.path) + " " + e.text
	case e.err != nil:
		return "the body " + e.text + ": " + event.Cut(e.err.Error())
	}
	return "the body " + e.text
}

func (e *decodeError) Unwrap() error { return e.err }

// in puts the error one level down, under name.
func (e *decodeError) in(name string) *decodeError {
	sep := ""
	if e.path != "" && e.path[0] != '[' {
		sep = "."
	}
	e.path = name + sep + e.path
	return e
}

// decodeStrict reads one JSON object from r into the struct that v points to,
// in one pass. encoding/json forgives too much for a contract: it matches
// names in any case, lets the last of two equal keys win, takes null for what
// must be there, and repairs invalid UTF-8. Here each of these is an error that
// names the field, as are unknown fields, missing required ones and trailing
// data. No body at all counts as {}.
//
// Fields may be strings, booleans, numbers, structs, pointers, slices, maps
// with string keys, and types that unmarshal themselves; of the last the bytes
// are kept after a check for duplicate keys.
func decodeStrict(r io.Reader, v any) error { return decodeWith(r, v, reading{most: unbounded}) }

const unbounded = -1

// reading says how a body is read.
type reading struct {
	// most entries of any slice are kept. The others are checked and dropped: a
	// body of millions of tiny entries would take many times its size in memory.
	most int
	// ignored, unless it is nil, lets unknown fields pass and takes their names.
	ignored *ignoredFields
}

// decodeWith is decodeStrict as how says.
//
// A body that nests too deep is that before anything else, wherever a reader
// would have stopped: so the rest of a refused one is looked at too.
func decodeWith(r io.Reader, v any, how reading) error {
	body := nesting.NewReader(r)
	err := decodeBody(body, v, how)
	if err != nil && body.Rest() != nil {
		return tooDeep()
	}
	return err
}

// decodeObject reads one JSON object whose fields may be any.
func decodeObject(r io.Reader) (o jsonObject, err error) {
	body := nesting.NewReader(r)
	dec := json.NewDecoder(&utf8Reader{r: body})
	d := &strictDecoder{dec: dec}
	if _, err = d.raw(&o, false); err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = trailing(more)
		}
	}
	if err != nil && body.Rest() != nil {
		err = tooDeep()
	}
	return o, err
}

func decodeBody(r io.Reader, v any, how reading) error {
	dec := json.NewDecoder(&utf8Reader{r: r})
	dec.UseNumber()
	d := &strictDecoder{dec: dec, reading: how}
	target := reflect.ValueOf(v).Elem()
	tok, err := dec.Token()
	if errors.Is(err, io.EOF) {
		return finishStruct(target, nil)
	}
	if err != nil {
		return malformed(err)
	}
	if err := d.token(tok, target, false); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return trailing(err)
	}
	return nil
}

// trailing tells a body that goes on from one that could not be read on.
func trailing(err error) error {
	var syntax *json.SyntaxError
	if err == nil || errors.As(err, &syntax) {
		return &decodeError{code: codeMalformedJSON, text: "has data after the JSON object"}
	}
	return malformed(err)
}

func malformed(err error) *decodeError {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &decodeError{code: codeMalformedJSON, text: "is not valid JSON", err: err}
}

func tooDeep() *decodeError {
	return &decodeError{code: codeTooDeep, text: fmt.Sprintf("nests objects and arrays more than %d deep", nesting.Max)}
}

func wrongType(want string) *decodeError {
	return &decodeError{code: codeInvalidType, text: "must be " + want}
}

type strictDecoder struct {
	reading

	dec *json.Decoder
	at  []string // the names of the objects around the value that is being read
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value reads the next value into v.
func (d *strictDecoder) value(v reflect.Value, nullable bool) error {
	if v.Kind() != reflect.Pointer && v.CanAddr() && v.Addr().Type().Implements(unmarshaler) {
		_, err := d.raw(v.Addr().Interface().(json.Unmarshaler), nullable)
		return err
	}
	if v.Kind() == reflect.Pointer && v.Type().Implements(unmarshaler) {
		return d.pointerRaw(v, nullable)
	}
	tok, err := d.dec.Token()
	if err != nil {
		return malformed(err)
	}
	return d.token(tok, v, nullable)
}

// pointerRaw is raw for a pointer to a type that unmarshals itself: nil stays
// nil for an accepted null.
func (d *strictDecoder) pointerRaw(v reflect.Value, nullable bool) error {
	elem := reflect.New(v.Type().Elem())
	given, err := d.raw(elem.Interface().(json.Unmarshaler), nullable)
	if given {
		v.Set(elem)
	}
	return err
}

// raw hands the bytes of the next value to a type that unmarshals itself.
// given is false for an accepted null.
func (d *strictDecoder) raw(u json.Unmarshaler, nullable bool) (given bool, err error) {
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return false, malformed(err)
	}
	if bytes.Equal(raw, []byte("null")) {
		return false, null(nullable)
	}
	if err := checkDuplicates(raw); err != nil {
		return false, err
	}
	if err := u.UnmarshalJSON(raw); err != nil {
		return false, &decodeError{code: codeInvalidType, text: "is not acceptable: " + event.Cut(err.Error())}
	}
	return true, nil
}

func null(allowed bool) error {
	if allowed {
		return nil
	}
	return wrongType("given a value, not null")
}

// token reads the value that begins with tok into v.
func (d *strictDecoder) token(tok json.Token, v reflect.Value, nullable bool) error {
	if tok == nil {
		return null(nullable)
	}
	switch v.Kind() {
	case reflect.Pointer:
		elem := reflect.New(v.Type().Elem())
		v.Set(elem)
		return d.token(tok, elem.Elem(), false)
	case reflect.Struct:
		return d.object(tok, v)
	case reflect.Map:
		return d.mapping(tok, v)
	case reflect.Slice:
		return d.list(tok, v)
	default:
		return scalar(tok, v)
	}
}

func scalar(tok json.Token, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		s, ok := tok.(string)
		if !ok {
			return wrongType("a string")
		}
		v.SetString(s)
	case reflect.Bool:
		b, ok := tok.(bool)
		if !ok {
			return wrongType("true or false")
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(number(tok), 10, v.Type().Bits())
		if err != nil {
			return wrongType("an integer")
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(number(tok), 64)
		if err != nil {
			return wrongType("a number")
		}
		v.SetFloat(f)
	default:
		return fmt.Errorf("httpapi: a body struct has a field of kind %s", v.Kind())
	}
	return nil
}

func number(tok json.Token) string {
	n, _ := tok.(json.Number)
	return n.String()
}

func (d *strictDecoder) object(tok json.Token, v reflect.Value) error {
	if tok != json.Delim('{') {
		return wrongType("an object")
	}
	seen := map[string]struct{}{} // a megabyte of names that nobody knows is as many
	for d.dec.More() {
		name, err := d.key()
		if err != nil {
			return err
		}
		if _, twice := seen[name]; twice {
			return duplicate(name)
		}
		seen[name] = struct{}{}
		if err := d.field(v, name); err != nil {
			return under(err, name)
		}
	}
	if err := d.closing(); err != nil {
		return err
	}
	return finishStruct(v, seen)
}

// field reads the value of an object's field into the struct v.
func (d *strictDecoder) field(v reflect.Value, name string) error {
	field, known := fieldNamed(v.Type(), name)
	switch {
	case known:
		d.at = append(d.at, name)
		defer func() { d.at = d.at[:len(d.at)-1] }()
		return d.value(v.FieldByIndex(field.Index), field.Tag.Get("strict") != required)
	case d.ignored == nil:
		return &decodeError{code: codeUnknownField, text: "is not a known field"}
	}
	d.ignored.add(append(d.at, name)...)
	var passed json.RawMessage
	if err := d.dec.Decode(&passed); err != nil {
		return malformed(err)
	}
	return nil
}

// mapping reads an object of any keys. Where the values are pointers, null is
// accepted and means absent: the key stays, with nil.
func (d *strictDecoder) mapping(tok json.Token, v reflect.Value) error {
	if tok != json.Delim('{') {
		return wrongType("an object")
	}
	m := reflect.MakeMap(v.Type())
	for d.dec.More() {
		name, err := d.key()
		if err != nil {
			return err
		}
		key := reflect.ValueOf(name).Convert(v.Type().Key())
		if m.MapIndex(key).IsValid() {
			return duplicate(name)
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(elem, elem.Kind() == reflect.Pointer); err != nil {
			return under(err, name)
		}
		m.SetMapIndex(key, elem)
	}
	v.Set(m)
	return d.closing()
}

func (d *strictDecoder) list(tok json.Token, v reflect.Value) error {
	if tok != json.Delim('[') {
		return wrongType("an array")
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	dropped := reflect.New(v.Type().Elem()).Elem()
	for i := 0; d.dec.More(); i++ {
		entry := dropped
		if d.most == unbounded || i < d.most {
			v.Grow(1)
			v.SetLen(i + 1)
			entry = v.Index(i)
		}
		if err := d.value(entry, false); err != nil {
			return under(err, "["+strconv.Itoa(i)+"]")
		}
	}
	return d.closing()
}

func (d *strictDecoder) key() (string, error) {
	tok, err := d.dec.Token()
	if err != nil {
		return "", malformed(err)
	}
	return tok.(string), nil // the decoder lets nothing else stand there
}

func (d *strictDecoder) closing() error {
	if _, err := d.dec.Token(); err != nil {
		return malformed(err)
	}
	return nil
}

func duplicate(name string) error {
	return (&decodeError{code: codeDuplicateField, text: "is given twice"}).in(name)
}

// under names the field in which err happened. A syntax error is the whole
// body's and stays as it is.
func under(err error, name string) error {
	var e *decodeError
	if errors.As(err, &e) && e.code != codeMalformedJSON {
		return e.in(name)
	}
	return err
}

// fieldNamed finds the field of struct type t, or of one embedded in it, whose
// JSON name is exactly name.
func fieldNamed(t reflect.Type, name string) (_ reflect.StructField, found bool) {
	for f := range t.Fields() {
		if f.Anonymous {
			if inner, found := fieldNamed(f.Type, name); found {
				inner.Index = append(slices.Clone(f.Index), inner.Index...)
				return inner, true
			}
		} else if jsonName(f) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// finishStruct fails when a required field was not among those seen.
func finishStruct(v reflect.Value, seen map[string]struct{}) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			if err := finishStruct(v.Field(i), seen); err != nil {
				return err
			}
			continue
		}
		if _, given := seen[jsonName(f)]; f.Tag.Get("strict") == required && !given {
			return &decodeError{code: codeMissingField, path: jsonName(f), text: "is required"}
		}
	}
	return nil
}
