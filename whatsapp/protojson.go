package whatsapp

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"

	"postern/event"
)

// maxDepth is how deep content may nest; what lies deeper becomes {}. Quotes
// nest, and the JSON readers of receivers have limits too.
const maxDepth = 64

// jsonWriter writes protobuf messages in protobuf's JSON mapping, with two
// differences: every key is in lower camel case, and text that is not UTF-8 is
// mended instead of refused. Unknown fields are left out.
type jsonWriter struct{ buf []byte }

func (w *jsonWriter) raw(s string) { w.buf = append(w.buf, s...) }

func (w *jsonWriter) text(s string) {
	b, err := event.Marshal(s) // replaces what is not UTF-8
	if err != nil {            // a string always marshals
		b = []byte(`""`)
	}
	w.buf = append(w.buf, b...)
}

func (w *jsonWriter) message(m protoreflect.Message, depth int) {
	w.raw("{")
	first := true
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if depth >= maxDepth || !m.Has(f) {
			continue
		}
		if !first {
			w.raw(",")
		}
		first = false
		w.text(lowerCamel(string(f.Name())))
		w.raw(":")
		w.field(f, m.Get(f), depth+1)
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
		if i > 0 {
			w.raw(",")
		}
		w.scalar(f, l.Get(i), depth)
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
		if i > 0 {
			w.raw(",")
		}
		w.text(k.String())
		w.raw(":")
		w.scalar(f.MapValue(), m.Get(k), depth)
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
		w.text(base64.StdEncoding.EncodeToString(v.Bytes()))
	case protoreflect.EnumKind:
		w.enum(f.Enum(), v.Enum())
	case protoreflect.FloatKind:
		w.number(v.Float(), 32)
	case protoreflect.DoubleKind:
		w.number(v.Float(), 64)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		w.text(strconv.FormatInt(v.Int(), 10))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		w.text(strconv.FormatUint(v.Uint(), 10))
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

// lowerCamel turns a field name of the schema into lower camel case, whatever
// capitals the schema uses: URL url, JPEGThumbnail jpegThumbnail, remoteJID
// remoteJid, fileSHA256 fileSha256, mentionedJIDs mentionedJids.
func lowerCamel(name string) string {
	var b strings.Builder
	name = strings.ReplaceAll(name, "CDNURL", "CdnURL") // two words that nothing separates
	for i, word := range words(name) {
		word = strings.ToLower(word)
		if i > 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}

// words splits a name at underscores, before a capital that follows a small
// letter or digit, and before the last capital of a run that a small letter
// follows ("JPEGThumbnail"), unless that letter is only a plural s.
func words(name string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, name[start:end])
		}
		start = end
	}
	for i := range len(name) {
		if name[i] == '_' {
			cut(i)
			start = i + 1
			continue
		}
		if i > start && capital(name, i) && (!capital(name, i-1) || startsWord(name, i)) {
			cut(i)
		}
	}
	cut(len(name))
	return out
}

func capital(s string, i int) bool { return i < len(s) && unicode.IsUpper(rune(s[i])) }

func startsWord(s string, i int) bool {
	small := func(i int) bool { return i < len(s) && unicode.IsLower(rune(s[i])) }
	plural := i+1 < len(s) && s[i+1] == 's' && !small(i+2)
	return small(i+1) && !plural
}
