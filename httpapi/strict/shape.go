package strict

import (
	"encoding/json"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// requiredTag is the `strict` tag of a required field. For other fields null means absent.
const requiredTag = "required"

// shape describes how to decode a type.
type shape struct {
	itself bool             // it unmarshals itself
	texts  bool             // it takes an array of strings
	fields map[string]field // of a struct, those of embedded ones among them; by their JSON names
	needed []string         // the names of those that are required, in their order
}

// required is a set of required fields of a struct: a bit for each, in the order of shape.needed.
type required uint64

type field struct {
	index    []int    // for reflect.Value.FieldByIndex
	required required // itself; 0: it may be absent
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textList    = reflect.TypeFor[TextList]()
)

// TextList is a struct that receives the strings of an array one by one, for a long array whose strings
// should not each be allocated. AddText copies text.
type TextList interface {
	AddText(text []byte)
}

// NullTaker is a type that unmarshals itself and for which null is a value, not the absence of one.
type NullTaker interface {
	json.Unmarshaler
	TakesNull()
}

// EntryList is a TextList whose array may have objects, too. NewEntry returns a pointer to a struct, and
// AddEntry takes it when it was decoded.
type EntryList interface {
	TextList
	NewEntry() any
	AddEntry(entry any)
}

// shapes caches the shapes of the types that were read, which are the program's own.
var shapes sync.Map // reflect.Type -> *shape

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	pointer := t
	if t.Kind() != reflect.Pointer {
		pointer = reflect.PointerTo(t)
	}
	s := &shape{itself: pointer.Implements(unmarshaler), texts: t.Kind() == reflect.Struct && pointer.Implements(textList)}
	if t.Kind() == reflect.Struct && !s.texts {
		s.fields = map[string]field{}
		s.add(t, nil)
	}
	known, _ := shapes.LoadOrStore(t, s)
	return known.(*shape)
}

// add adds the fields of the struct type t, which is embedded at an index, or is the struct itself. Of two
// fields with the same name the first counts.
func (s *shape) add(t reflect.Type, at []int) {
	for f := range t.Fields() {
		index := append(slices.Clip(at), f.Index...)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch _, taken := s.fields[name]; {
		case f.Anonymous:
			s.add(f.Type, index)
		case name == "" || name == "-" || taken:
		case f.Tag.Get("strict") == requiredTag:
			s.fields[name] = field{index, 1 << len(s.needed)}
			s.needed = append(s.needed, name)
		default:
			s.fields[name] = field{index: index}
		}
	}
	if len(s.needed) > 64 {
		panic("strict: " + t.String() + " has too many required fields")
	}
}

// firstMissing returns the first required field that is not in the set of seen ones.
func (s *shape) firstMissing(seen required) (name string, ok bool) {
	missing := bits.TrailingZeros64(^uint64(seen))
	if missing >= len(s.needed) {
		return "", false
	}
	return s.needed[missing], true
}
