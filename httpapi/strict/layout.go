package strict

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// required is the `strict` tag of a field that must be there. For any other
// field null means absent.
const required = "required"

// layout is what a struct takes, with what the structs embedded in it take.
type layout struct {
	fields map[string]field // by their JSON names
	needed []string         // names of the required ones, in order
}

type field struct {
	index    []int
	required bool
}

// layouts has a layout for each type of body, which reflection makes anew with
// allocations for every field.
var layouts sync.Map // reflect.Type -> *layout

func layoutOf(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{fields: map[string]field{}}
	l.add(t, nil)
	layouts.Store(t, l)
	return l
}

// add adds the fields of t, a struct found at index. The first of a name counts.
func (l *layout) add(t reflect.Type, index []int) {
	for f := range t.Fields() {
		at := append(slices.Clone(index), f.Index...)
		if f.Anonymous {
			l.add(f.Type, at)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		must := f.Tag.Get("strict") == required
		if _, known := l.fields[name]; !known {
			l.fields[name] = field{at, must}
		}
		if must {
			l.needed = append(l.needed, name)
		}
	}
}

// finish fails when a required field was not among those seen.
func (d *decoder) finish(l *layout, seen []string) error {
	for _, name := range l.needed {
		if slices.Contains(seen, name) {
			continue
		}
		err := Missing(name, "is required")
		if around := d.path(d.dec.StackPointer()); around != "" {
			err = err.In(around)
		}
		return err
	}
	return nil
}
