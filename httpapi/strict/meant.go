package strict

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"postern/internal/nearest"
)

// meantDepth is the maximum depth below a struct at which the field meant by an unknown one is searched.
const meantDepth = 2

// meantBy returns the field that was probably meant by an unknown one, as a path below the struct: one of
// that name further inside, otherwise one whose name differs in case or by a typing error. It is empty if
// none is close. Of several it returns the first by path.
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
	if near, ok := nearest.Meant(name, own); ok {
		return near
	}
	return ""
}

// fieldsBelow returns the paths of the fields inside the fields of a struct, required ones first, then the
// shorter ones. At the greatest depth it returns only fields with a single value: an object there is
// independent, and its name says little.
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

// single reports whether a field holds one value, neither an object nor a list.
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
