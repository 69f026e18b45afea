package strict

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"postern/event"
)

// meantDepth is how far below a struct the field is looked for that was meant by an
// unknown one.
const meantDepth = 2

// meantBy is the field that was probably meant by one that a struct does not have, as a
// path below the struct: one of that name further inside, then one whose name differs in
// case or by a slip. It is empty when none is close. Where several are, it is the one
// whose path comes first.
func meantBy(t reflect.Type, name string) string {
	inside := fieldsBelow(t, meantDepth)
	for _, path := range inside {
		if path[strings.LastIndexByte(path, '.')+1:] == name {
			return path
		}
	}
	own := slices.Sorted(maps.Keys(shapeOf(t).fields))
	for _, other := range own {
		if strings.EqualFold(other, name) {
			return other
		}
	}
	if near, ok := event.Near(name, own); ok {
		return near
	}
	return ""
}

// fieldsBelow are the paths of the fields inside the fields of a struct, required ones
// first and then the shorter. The deepest are those with a single value: an object there
// is a thing of its own, and its name says little.
func fieldsBelow(t reflect.Type, depth int) (paths []string) {
	s := shapeOf(t)
	names := slices.Sorted(maps.Keys(s.fields))
	slices.SortStableFunc(names, func(a, b string) int { return place(s, a) - place(s, b) })
	for _, name := range names {
		inner := t.FieldByIndex(s.fields[name].index).Type
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() != reflect.Struct || shapeOf(inner).itself {
			continue
		}
		for _, field := range slices.Sorted(maps.Keys(shapeOf(inner).fields)) {
			if depth == meantDepth || single(inner.FieldByIndex(shapeOf(inner).fields[field].index).Type) {
				paths = append(paths, name+"."+field)
			}
		}
		if depth > 1 {
			for _, path := range fieldsBelow(inner, depth-1) {
				paths = append(paths, name+"."+path)
			}
		}
	}
	return paths
}

// single tells whether a field holds one value, neither an object nor a list.
func single(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map, reflect.Interface:
		return false
	default:
		return true
	}
}

// place orders required fields before the others.
func place(s *shape, name string) int {
	if s.fields[name].required != 0 {
		return 0
	}
	return 1
}
