package strict

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"postern/event"
)

// value reads the next value into v.
func (d *decoder) value(v reflect.Value, nullable bool) error {
	if shapeOf(v.Type()).itself {
		return d.itself(v, nullable)
	}
	tok, err := d.dec.ReadToken()
	if err != nil {
		return d.failed(err)
	}
	return d.token(tok, v, nullable)
}

// itself reads the next value into v, whose type unmarshals itself.
func (d *decoder) itself(v reflect.Value, nullable bool) error {
	if v.Kind() != reflect.Pointer {
		_, err := d.raw(v.Addr().Interface().(json.Unmarshaler), nullable)
		return err
	}
	elem := reflect.New(v.Type().Elem())
	given, err := d.raw(elem.Interface().(json.Unmarshaler), nullable)
	if given {
		v.Set(elem)
	}
	return err
}

// raw passes the bytes of the next value to a type that unmarshals itself. given is false for an accepted
// null.
func (d *decoder) raw(u json.Unmarshaler, nullable bool) (given bool, err error) {
	raw, err := d.dec.ReadValue()
	if err != nil {
		return false, d.failed(err)
	}
	if _, takes := u.(NullTaker); raw.Kind() == 'n' && !takes {
		return false, d.null(nullable)
	}
	if raw, err = wholeRunes(raw); err != nil {
		return false, d.failed(err)
	}
	if err := u.UnmarshalJSON(raw); err != nil {
		return false, d.here(&Error{Code: CodeInvalidType, Text: "is not acceptable: " + event.Cut(err.Error())})
	}
	return true, nil
}

// wholeRunes replaces escapes of half a surrogate pair by U+FFFD, as ReadToken does. Kept values are sent
// in events, and many readers refuse a document with such an escape.
func wholeRunes(raw jsontext.Value) (jsontext.Value, error) {
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) || raw.IsValid() {
		return raw, nil
	}
	whole := raw.Clone()
	err := whole.Format(jsontext.AllowInvalidUTF8(true))
	return whole, err
}

// skip reads the next value and discards it.
func (d *decoder) skip() error {
	if err := d.dec.SkipValue(); err != nil {
		return d.failed(err)
	}
	return nil
}

func (d *decoder) null(allowed bool) error {
	if allowed {
		return nil
	}
	return d.here(WrongType("given a value, not null"))
}

// token reads the value that begins with tok into v.
func (d *decoder) token(tok jsontext.Token, v reflect.Value, nullable bool) error {
	if tok.Kind() == 'n' {
		return d.null(nullable)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.token(tok, v.Elem(), false)
	case reflect.Struct:
		if shapeOf(v.Type()).texts {
			return d.textList(tok, v.Addr().Interface().(TextList))
		}
		return d.object(tok, v)
	case reflect.Map:
		return d.mapping(tok, v)
	case reflect.Slice:
		return d.list(tok, v)
	default:
		if want := scalar(tok, v); want != "" {
			return d.here(WrongType(want))
		}
		return nil
	}
}

// scalar stores tok in v, or returns the required type.
func scalar(tok jsontext.Token, v reflect.Value) (want string) {
	kind := tok.Kind()
	switch v.Kind() {
	case reflect.String:
		if kind != '"' {
			return "a string"
		}
		v.SetString(tok.String())
	case reflect.Bool:
		if kind != 't' && kind != 'f' {
			return "true or false"
		}
		v.SetBool(tok.Bool())
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(tok.String(), 10, v.Type().Bits())
		if kind != '0' || err != nil {
			return "an integer"
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(tok.String(), 64)
		if kind != '0' || err != nil {
			return "a number"
		}
		v.SetFloat(f)
	default:
		panic("strict: a struct has a field of kind " + v.Kind().String())
	}
	return ""
}

// open fails unless an object begins with tok.
func (d *decoder) open(tok jsontext.Token) error {
	if tok.Kind() != '{' {
		return d.here(WrongType("an object"))
	}
	return nil
}

// name reads the name of the next field of an object. more is false at the end of the object.
func (d *decoder) name() (name jsontext.Token, more bool, err error) {
	name, err = d.dec.ReadToken()
	if err != nil {
		return name, false, d.failed(err)
	}
	return name, name.Kind() != '}', nil
}

func (d *decoder) object(tok jsontext.Token, v reflect.Value) error {
	if err := d.open(tok); err != nil {
		return err
	}
	s := shapeOf(v.Type())
	var seen required
	for {
		name, more, err := d.name()
		if err != nil {
			return err
		}
		if !more {
			return d.missing(s, seen)
		}
		if f, known := s.fields[name.String()]; known {
			seen |= f.required
			err = d.value(v.FieldByIndex(f.index), f.required == 0)
		} else {
			err = d.unknown(v.Type(), name.String())
		}
		if err != nil {
			return err
		}
	}
}

// unknown refuses or skips the field whose name was read. in is the struct that does not have it.
func (d *decoder) unknown(in reflect.Type, name string) error {
	if d.Ignored == nil {
		e := Unknown(d.path(d.dec.StackPointer()))
		if meant := meantBy(in, name); meant != "" {
			e.Text += "; use " + strings.TrimSuffix(e.Path, name) + meant
		}
		return e
	}
	d.Ignored.Add(d.names()...)
	return d.skip()
}

// mapping reads an object with any keys. If the values are pointers, null is accepted and means absent: the
// key is kept, with nil.
func (d *decoder) mapping(tok jsontext.Token, v reflect.Value) error {
	if err := d.open(tok); err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	for {
		name, more, err := d.name()
		if err != nil || !more {
			return err
		}
		key.SetString(name.String())
		elem.SetZero()
		if err := d.value(elem, elem.Kind() == reflect.Pointer); err != nil {
			return err
		}
		v.SetMapIndex(key, elem)
	}
}

func (d *decoder) list(tok jsontext.Token, v reflect.Value) error {
	if tok.Kind() != '[' {
		return d.here(WrongType("an array"))
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	var dropped reflect.Value
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		entry := dropped
		switch {
		case d.MaxEntries == 0 || i < d.MaxEntries:
			v.Grow(1)
			v.SetLen(i + 1)
			entry = v.Index(i)
		case !dropped.IsValid():
			dropped = reflect.New(v.Type().Elem()).Elem()
			entry = dropped
		}
		if err := d.value(entry, false); err != nil {
			return err
		}
	}
	if _, err := d.dec.ReadToken(); err != nil { // the bracket
		return d.failed(err)
	}
	return nil
}

// textList reads an array of strings, or of objects for an EntryList.
func (d *decoder) textList(tok jsontext.Token, to TextList) error {
	if tok.Kind() != '[' {
		return d.here(WrongType("an array"))
	}
	entries, _ := to.(EntryList)
	want := "a string"
	if entries != nil {
		want = "a string or an object"
	}
	var text []byte
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		if entries != nil && d.dec.PeekKind() == '{' {
			entry := entries.NewEntry()
			if err := d.value(reflect.ValueOf(entry).Elem(), false); err != nil {
				return err
			}
			if d.MaxEntries == 0 || i < d.MaxEntries {
				entries.AddEntry(entry)
			}
			continue
		}
		raw, err := d.dec.ReadValue()
		switch {
		case err != nil:
			return d.failed(err)
		case raw.Kind() == 'n':
			return d.null(false)
		case raw.Kind() != '"':
			return d.here(WrongType(want))
		}
		if d.MaxEntries > 0 && i >= d.MaxEntries {
			continue
		}
		if raw, err = wholeRunes(raw); err != nil {
			return d.failed(err)
		}
		if text, err = jsontext.AppendUnquote(text[:0], raw); err != nil {
			return d.failed(err)
		}
		to.AddText(text)
	}
	if _, err := d.dec.ReadToken(); err != nil { // the bracket
		return d.failed(err)
	}
	return nil
}

// missing fails if a required field of an object of shape s is not in the set of seen ones.
func (d *decoder) missing(s *shape, seen required) error {
	name, ok := s.firstMissing(seen)
	if !ok {
		return nil
	}
	err := Missing(name, "is required")
	if around := d.path(d.dec.StackPointer()); around != "" {
		err = err.In(around)
	}
	return err
}
