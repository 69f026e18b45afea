package strict

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"postern/internal/nesting"
)

// Options control how a body is read. The zero value keeps all entries and ignores no field.
type Options struct {
	// MaxEntries of any slice are kept, 0: all of them. The others are checked and dropped: a body of millions
	// of tiny entries would take many times its size in memory.
	MaxEntries int
	// Ignored, unless it is nil, makes unknown fields be ignored and collects their names.
	Ignored *Ignored
}

// Decode reads one JSON object from r into the struct that v points to, in one pass. An empty body counts as
// {}. For an invalid body the error is an [*Error].
//
// Fields may be strings, booleans, numbers, structs, pointers, slices, maps with string keys, [TextList]s,
// and types that unmarshal themselves; the bytes of the latter are kept after a check for duplicate keys.
//
// Excessive nesting takes precedence over any other error, wherever a reader would have stopped. Therefore
// the rest of a refused body is read too.
func Decode(r io.Reader, v any, o Options) error {
	d := read(r, o)
	return d.end(d.body(reflect.ValueOf(v).Elem()))
}

// ReadObject reads one JSON object with any fields.
func ReadObject(r io.Reader) (o Object, err error) {
	d := read(r, Options{})
	_, err = d.raw(&o, false)
	return o, d.end(err)
}

// Check refuses a document of any shape that is not UTF-8, nests too deep, has a duplicate key in an object,
// or is not one JSON value.
func Check(raw []byte) error {
	if !utf8.Valid(raw) {
		return malformed(errNotUTF8)
	}
	d := read(bytes.NewReader(raw), Options{})
	return d.end(d.skip())
}

// decoder reads the values of one document.
type decoder struct {
	Options

	nested nesting.Reader
	text   textReader // of nested
	dec    jsontext.Decoder
}

// maxReused is the maximum length of a document whose decoder is reused: its buffers are at most some times
// as long.
const maxReused = 16 << 10

var decoders = sync.Pool{New: func() any {
	// The buffer should hold most documents as they arrive: if it grows or moves in the middle of one, jsontext
	// reports a wrong position.
	d := new(decoder)
	d.dec.Reset(strings.NewReader(strings.Repeat(" ", 4<<10)))
	_, _ = d.dec.ReadToken()
	return d
}}

// read returns a decoder of the one document in r. The caller must call end, once.
func read(r io.Reader, o Options) *decoder {
	d := decoders.Get().(*decoder)
	d.Options = o
	d.nested = *nesting.NewReader(r)
	d.text.reset(&d.nested)
	// Invalid UTF-8 does not get this far. Escapes of half a surrogate pair are accepted, and read as U+FFFD.
	d.dec.Reset(&d.text, jsontext.AllowInvalidUTF8(true))
	return d
}

// body reads the object of a document, or an empty document, into v.
func (d *decoder) body(v reflect.Value) error {
	tok, err := d.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return d.missing(shapeOf(v.Type()), 0)
	}
	if err != nil {
		return d.failed(err)
	}
	return d.token(tok, v, false)
}

// end ends the document whose value was read with err, which may be nil. It returns the error of the
// document.
func (d *decoder) end(err error) error {
	if err == nil {
		if _, err = d.dec.ReadToken(); errors.Is(err, io.EOF) {
			d.release()
			return nil
		}
		err = d.trailing(err)
	}
	if d.nested.Rest() != nil {
		return TooDeep()
	}
	return err
}

// release makes the decoder available for another document, unless this one was large. The caller owns what
// was read: texts are copies, and so is what a type that unmarshals itself keeps.
func (d *decoder) release() {
	if d.dec.InputOffset() > maxReused {
		return
	}
	d.Options, d.nested = Options{}, nesting.Reader{} // the caller's
	decoders.Put(d)
}
