package strict

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"postern/nesting"
)

// Options say how a body is read. The zero value keeps all and ignores nothing.
type Options struct {
	// MaxEntries of any slice are kept, 0: all of them. The others are checked
	// and dropped: a body of millions of tiny entries would take many times its
	// size in memory.
	MaxEntries int
	// Ignored, unless it is nil, lets unknown fields pass and takes their names.
	Ignored *Ignored
}

// Decode reads one JSON object from r into the struct that v points to, in one
// pass. No body at all counts as {}. What it refuses is an [*Error].
//
// Fields may be strings, booleans, numbers, structs, pointers, slices, maps
// with string keys, and types that unmarshal themselves; of the last the bytes
// are kept after a check for duplicate keys.
//
// A body that nests too deep is that before anything else, wherever a reader
// would have stopped: so the rest of a refused one is looked at too.
func Decode(r io.Reader, v any, o Options) error {
	target := reflect.ValueOf(v).Elem()
	return document(r, o, func(d *decoder) error {
		tok, err := d.dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return d.finish(layoutOf(target.Type()), nil)
		}
		if err != nil {
			return d.failed(err)
		}
		return d.token(tok, target, false)
	})
}

// ReadObject reads one JSON object whose fields may be any.
func ReadObject(r io.Reader) (o Object, err error) {
	err = document(r, Options{}, func(d *decoder) error {
		_, err := d.raw(&o, false)
		return err
	})
	return o, err
}

// Check refuses a document of any shape that is not UTF-8, nests too deep, has an
// object with the same key twice, or is not one JSON value.
func Check(raw []byte) error {
	if !utf8.Valid(raw) {
		return malformed(encoding.ErrInvalidUTF8)
	}
	body := nesting.NewReader(bytes.NewReader(raw))
	return whole(body, body, Options{}, func(d *decoder) error { return d.skip() })
}

// document reads the one value of r by read.
func document(r io.Reader, o Options, read func(*decoder) error) error {
	body := nesting.NewReader(r)
	begin, err := beginning(body)
	if errors.Is(err, io.EOF) && utf8.Valid(begin) {
		return whole(body, bytes.NewBuffer(begin), o, read)
	}
	rest := io.Reader(body)
	if err != nil {
		rest = ended{err}
	}
	return whole(body, transform.NewReader(io.MultiReader(bytes.NewReader(begin), rest), encoding.UTF8Validator), o, read)
}

// smallBody is the size from which on a body is judged and read in pieces, in bytes:
// the buffers for that are 8 KB, for a text that has some hundred.
const smallBody = 1024

// beginning reads up to that many bytes. Its error is how the body ended, nil when
// there may be more.
func beginning(body io.Reader) (begin []byte, err error) {
	begin = make([]byte, 0, smallBody)
	for n := 0; err == nil && len(begin) < smallBody; begin = begin[:len(begin)+n] {
		n, err = body.Read(begin[len(begin):smallBody])
	}
	return begin, err
}

// ended is a reader that has come to its end by an error: asked once more, a body
// that was cut off can say that it is whole.
type ended struct{ err error }

// Read implements io.Reader.
func (e ended) Read([]byte) (int, error) { return 0, e.err }

// whole reads the one value of text by read; body is what text is read from.
func whole(body *nesting.Reader, text io.Reader, o Options, read func(*decoder) error) error {
	// Bytes that are not UTF-8 do not come so far. Escapes of half a rune are
	// taken, and read as U+FFFD.
	d := &decoder{Options: o, dec: jsontext.NewDecoder(text, jsontext.AllowInvalidUTF8(true))}
	err := read(d)
	if err == nil {
		if _, err = d.dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
		err = d.trailing(err)
	}
	if body.Rest() != nil {
		return TooDeep()
	}
	return err
}

// decoder reads the values of one document.
type decoder struct {
	Options

	dec *jsontext.Decoder
}
