package strict

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"postern/event"
)

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value reads the next value into v.
func (d *decoder) value(v reflect.Value, nullable bool) error {
	if v.Kind() != reflect.Pointer && v.CanAddr() && v.Addr().Type().Implements(unmarshaler) {
		_, err := d.raw(v.Addr().Interface().(json.Unmarshaler), nullable)
		return err
	}
	if v.Kind() == reflect.Pointer && v.Type().Implements(unmarshaler) {
		elem := reflect.New(v.Type().Elem())
		given, err := d.raw(elem.Interface().(json.Unmarshaler), nullable)
		if given {
			v.Set(elem)
		}
		return err
	}
	tok, err := d.dec.ReadToken()
	if err != nil {
		return d.failed(err)
	}
	return d.token(tok, v, nullable)
}

// raw hands the bytes of the next value to a type that unmarshals itself.
// given is false for an accepted null.
func (d *decoder) raw(u json.Unmarshaler, nullable bool) (given bool, err error) {
	raw, err := d.dec.ReadValue()
	if err != nil {
		return false, d.failed(err)
	}
	if raw.Kind() == 'n' {
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

// wholeRunes writes U+FFFD for escapes of half a rune, as ReadToken reads them.
// What is kept goes out again in events, and many who read those refuse such an
// escape with all that it stands in.
func wholeRunes(raw jsontext.Value) (jsontext.Value, error) {
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) || raw.IsValid() {
		return raw, nil
	}
	whole := raw.Clone()
	err := whole.Format(jsontext.AllowInvalidUTF8(true))
	return whole, err
}

// skip reads the next value and forgets it.
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

// scalar puts tok into v, or returns what it must be instead.
func scalar(tok jsontext.Token, v reflect.Value) (want string) {
	text, kind := tok.String(), tok.Kind()
	switch v.Kind() {
	case reflect.String:
		if kind != '"' {
			return "a string"
		}
		v.SetString(text)
	case reflect.Bool:
		if kind != 't' && kind != 'f' {
			return "true or false"
		}
		v.SetBool(tok.Bool())
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if kind != '0' || err != nil {
			return "an integer"
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if kind != '0' || err != nil {
			return "a number"
		}
		v.SetFloat(f)
	default:
		panic("strict: a struct has a field of kind " + v.Kind().String())
	}
	return ""
}

// fields calls read with each name of the object that begins with tok.
func (d *decoder) fields(tok jsontext.Token, read func(name string) error) error {
	if tok.Kind() != '{' {
		return d.here(WrongType("an object"))
	}
	for {
		name, err := d.dec.ReadToken()
		if err != nil {
			return d.failed(err)
		}
		if name.Kind() == '}' {
			return nil
		}
		if err := read(name.String()); err != nil {
			return err
		}
	}
}

func (d *decoder) object(tok jsontext.Token, v reflect.Value) error {
	of := layoutOf(v.Type())
	var seen []string // of the fields that the struct has
	err := d.fields(tok, func(name string) error {
		field, known := of.fields[name]
		switch {
		case known:
			seen = append(seen, name)
			return d.value(v.FieldByIndex(field.index), !field.required)
		case d.Ignored == nil:
			return d.here(Unknown(""))
		}
		d.Ignored.Add(d.names()...)
		return d.skip()
	})
	if err != nil {
		return err
	}
	return d.finish(of, seen)
}

// mapping reads an object of any keys. Where the values are pointers, null is
// accepted and means absent: the key stays, with nil.
func (d *decoder) mapping(tok jsontext.Token, v reflect.Value) error {
	v.Set(reflect.MakeMap(v.Type()))
	return d.fields(tok, func(name string) error {
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(elem, elem.Kind() == reflect.Pointer); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), elem)
		return nil
	})
}

func (d *decoder) list(tok jsontext.Token, v reflect.Value) error {
	if tok.Kind() != '[' {
		return d.here(WrongType("an array"))
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	dropped := reflect.New(v.Type().Elem()).Elem()
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		entry := dropped
		if d.MaxEntries == 0 || i < d.MaxEntries {
			v.Grow(1)
			v.SetLen(i + 1)
			entry = v.Index(i)
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
