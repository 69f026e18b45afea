package translate

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"postern/event"
	"postern/internal/nesting"
)

// maxDepth is how deep content may nest, counting objects and arrays; deeper values
// become {} or []. Quotes nest, and the JSON readers of receivers have limits too.
const maxDepth = nesting.Max

// maxContent is the greatest size of the JSON of one content, in bytes. WhatsApp's own
// limit for a text is 65 536 characters and its thumbnails are small, so no ordinary
// message comes near. Without a limit, a sender could fill the queue of a webhook with
// frames of 16 MB, which escaping makes larger still.
const maxContent = 4 << 20

// jsonWriter writes protobuf messages in protobuf's JSON mapping, with three
// differences: every key is in lower camel case; invalid UTF-8 is replaced instead of
// rejected; and what exceeds maxContent is omitted: a text is cut at its end, bytes
// become empty, later fields and elements are absent. Unknown fields are omitted.
type jsonWriter struct {
	buf []byte
	cut bool // something was omitted for its size
}

func (w *jsonWriter) raw(s string) { w.buf = append(w.buf, s...) }

func (w *jsonWriter) room() int { return max(0, maxContent-len(w.buf)) }

// full reports whether nothing more may follow, and records the omission.
func (w *jsonWriter) full() bool {
	if w.room() > 0 {
		return false
	}
	w.cut = true
	return true
}

// shorten cuts a text to n bytes at a character boundary.
func (w *jsonWriter) shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	w.cut = true
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func (w *jsonWriter) text(s string) {
	s = w.shorten(s, w.room())
	if !needsEscape(s) {
		w.raw(`"`)
		w.raw(s)
		w.raw(`"`)
		return
	}
	b := quote(s)
	if len(b) > w.room()+2 {
		b = quote(w.shorten(s, fitting(s, w.room())))
	}
	w.buf = append(w.buf, b...)
}

// fitting returns how much of a text fits once it is escaped.
func fitting(s string, room int) int {
	for i, r := range s {
		switch {
		case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
			room -= 2
		case r < ' ', r == utf8.RuneError, r == '\u2028', r == '\u2029':
			room -= 6
		default:
			room -= utf8.RuneLen(r)
		}
		if room < 0 {
			return i
		}
	}
	return len(s)
}

// quote returns a string in JSON, with invalid UTF-8 replaced.
func quote(s string) []byte {
	b, err := event.Marshal(s)
	if err != nil { // a string always marshals
		return []byte(`""`)
	}
	return b
}

// needsEscape reports whether a text needs escapes between quotes.
func needsEscape(s string) bool {
	ascii := true
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c == '"', c == '\\':
			return true
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return !ascii && (!utf8.ValidString(s) || strings.ContainsAny(s, "\u2028\u2029"))
}

func (w *jsonWriter) bytes(b []byte) {
	w.raw(`"`)
	if base64.StdEncoding.EncodedLen(len(b)) <= w.room() {
		w.buf = base64.StdEncoding.AppendEncode(w.buf, b)
	} else {
		w.cut = true
	}
	w.raw(`"`)
}

// message writes m below so many objects and arrays.
func (w *jsonWriter) message(m protoreflect.Message, depth int) {
	w.raw("{")
	first := true
	fields := contentFields(m.Descriptor())
	for i := range fields {
		f := &fields[i]
		if depth >= maxDepth-1 || !m.Has(f.FieldDescriptor) {
			continue
		}
		if w.full() {
			break
		}
		if !first {
			w.raw(",")
		}
		first = false
		w.raw(f.key)
		w.field(f.FieldDescriptor, m.Get(f.FieldDescriptor), depth+1)
	}
	w.raw("}")
}

func (w *jsonWriter) field(f protoreflect.FieldDescriptor, v protoreflect.Value, depth int) {
	switch {
	case f.IsList():
		w.list(f, v.List(), depth)
	case f.IsMap():
		w.dictionary(f, v.Map(), depth)
	default:
		w.scalar(f, v, depth)
	}
}

func (w *jsonWriter) list(f protoreflect.FieldDescriptor, l protoreflect.List, depth int) {
	w.raw("[")
	for i := range l.Len() {
		if w.full() || f.Message() != nil && depth+1 >= maxDepth {
			break
		}
		if i > 0 {
			w.raw(",")
		}
		w.scalar(f, l.Get(i), depth+1)
	}
	w.raw("]")
}

func (w *jsonWriter) dictionary(f protoreflect.FieldDescriptor, m protoreflect.Map, depth int) {
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) })
	w.raw("{")
	for i, k := range keys {
		if w.full() || f.MapValue().Message() != nil && depth+1 >= maxDepth {
			break
		}
		if i > 0 {
			w.raw(",")
		}
		w.text(k.String())
		w.raw(":")
		w.scalar(f.MapValue(), m.Get(k), depth+1)
	}
	w.raw("}")
}

func (w *jsonWriter) scalar(f protoreflect.FieldDescriptor, v protoreflect.Value, depth int) {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		w.message(v.Message(), depth)
	case protoreflect.BoolKind:
		w.buf = strconv.AppendBool(w.buf, v.Bool())
	case protoreflect.StringKind:
		w.text(v.String())
	case protoreflect.BytesKind:
		w.bytes(v.Bytes())
	case protoreflect.EnumKind:
		w.enum(f.Enum(), v.Enum())
	case protoreflect.FloatKind:
		w.number(v.Float(), 32)
	case protoreflect.DoubleKind:
		w.number(v.Float(), 64)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		w.raw(`"`)
		w.buf = strconv.AppendInt(w.buf, v.Int(), 10)
		w.raw(`"`)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		w.raw(`"`)
		w.buf = strconv.AppendUint(w.buf, v.Uint(), 10)
		w.raw(`"`)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		w.buf = strconv.AppendInt(w.buf, v.Int(), 10)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		w.buf = strconv.AppendUint(w.buf, v.Uint(), 10)
	default:
		w.raw("null")
	}
}

// enum writes the name of a value, or the number of one that the schema does
// not know.
func (w *jsonWriter) enum(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber) {
	if v := e.Values().ByNumber(n); v != nil {
		w.text(string(v.Name()))
		return
	}
	w.buf = strconv.AppendInt(w.buf, int64(n), 10)
}

func (w *jsonWriter) number(f float64, bits int) {
	switch {
	case math.IsNaN(f):
		w.raw(`"NaN"`)
	case math.IsInf(f, 1):
		w.raw(`"Infinity"`)
	case math.IsInf(f, -1):
		w.raw(`"-Infinity"`)
	default:
		w.buf = strconv.AppendFloat(w.buf, f, 'g', -1, bits)
	}
}
