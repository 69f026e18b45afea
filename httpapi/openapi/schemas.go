package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"postern/event"
)

// schemas collects the components of a document.
type schemas struct {
	api   *API
	all   Object // by name
	names map[direction]string
	owner map[string]direction // of a name

	explained map[string]bool // keys of Fields that were used
	missing   []string        // fields without words
	problems  []string
}

// direction is a type in requests or in answers.
type direction struct {
	t  reflect.Type
	in bool
}

func newSchemas(api *API) *schemas {
	return &schemas{api: api, all: Object{}, names: map[direction]string{}, owner: map[string]direction{}, explained: map[string]bool{}}
}

func (c *schemas) fail(problem string) {
	if !slices.Contains(c.problems, problem) {
		c.problems = append(c.problems, problem)
	}
}

// nameOf returns the name of a type, the same in both directions.
func (c *schemas) nameOf(t reflect.Type) string {
	if name := c.api.Types[t].Name; name != "" {
		return name
	}
	name := []rune(t.Name())
	if len(name) > 0 {
		name[0] = unicode.ToUpper(name[0])
	}
	return string(name)
}

// component returns a reference to the schema of d, which it makes with make on first use.
func (c *schemas) component(d direction, make func() Object) Object {
	name, known := c.names[d]
	if !known {
		name = c.nameOf(d.t)
		if _, written := c.names[direction{d.t, !d.in}]; written && d.in {
			name += "Input"
		}
		if other, taken := c.owner[name]; taken || name == "" || strings.ContainsAny(name, "[]/.") {
			c.fail(fmt.Sprintf("%v needs a name of its own; %q is that of %v", d.t, name, other.t))
			name = fmt.Sprint("Unnamed", len(c.all))
		}
		c.names[d], c.owner[name] = name, d
		s := make()
		if about := c.api.Types[d.t].About; about != "" {
			s["description"] = about
		}
		c.all[name] = s
	}
	return reference("schemas", name)
}

func reference(kind, name string) Object { return Object{"$ref": "#/components/" + kind + "/" + name} }

// overruled returns the schema of a type that overrides it.
func (c *schemas) overruled(d direction) Object {
	o, ok := c.api.Types[d.t]
	if !ok || o.Schema == nil {
		return nil
	}
	ref := c.read
	if o.Answers {
		ref = c.answer
	}
	if o.Name == "" {
		return o.Schema(ref)
	}
	// The same in both directions, so it exists once.
	other := direction{d.t, !d.in}
	if name, ok := c.names[other]; ok {
		return reference("schemas", name)
	}
	return c.component(d, func() Object { return o.Schema(ref) })
}

// written returns the schema of a type in answers and events.
func (c *schemas) written(t reflect.Type) Object { return c.answers().Type(t) }

func (c *schemas) answers() event.Schemas {
	return event.Schemas{Ref: c.writtenRef, Note: c.note}
}

// answer returns the schema of a whole answer: a reference if it has a name.
func (c *schemas) answer(t reflect.Type) Object {
	if ref := c.writtenRef(t); ref != nil {
		return ref
	}
	return c.written(t)
}

func (c *schemas) writtenRef(t reflect.Type) Object {
	d := direction{t, false}
	if s := c.overruled(d); s != nil {
		return s
	}
	if t.Kind() == reflect.Struct && t != reflect.TypeFor[event.Time]() {
		return c.component(d, func() Object { return c.written(t) })
	}
	if t.Kind() == reflect.String && event.TypeSchema(t)["enum"] != nil {
		return c.component(d, func() Object { return event.TypeSchema(t) })
	}
	return nil
}

// note adds the description of a field of owner to its schema: that of its tags, or else that of Fields.
func (c *schemas) note(owner reflect.Type, field reflect.StructField, s Object) {
	name, like := jsonName(field), c.api.Types[owner].Words
	tagged := field
	if _, ok := tagged.Tag.Lookup("doc"); !ok && like != nil {
		tagged = fieldNamed(like, name)
	}
	if f, ok := fieldOf(tagged, c.api.Examples); ok {
		c.describe(f, s)
		return
	}
	owners := []string{c.nameOf(owner)}
	if like != nil {
		owners = append(owners, c.nameOf(like))
	}
	c.explain(name, s, owners...)
}

// fieldNamed returns the field of a struct by its name in JSON, or the zero value.
func fieldNamed(t reflect.Type, name string) reflect.StructField {
	for _, f := range reflect.VisibleFields(t) {
		if jsonName(f) == name {
			return f
		}
	}
	return reflect.StructField{}
}

// jsonName returns the name of a field in JSON, empty if it has no tag.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// explain looks a field up under each of its owner's names, then by its own name.
func (c *schemas) explain(field string, s Object, owners ...string) {
	for _, owner := range append(owners, "") {
		key := strings.TrimPrefix(owner+"."+field, ".")
		if f, ok := c.api.Fields[key]; ok {
			c.explained[key] = true
			c.describe(f, s)
			return
		}
	}
	if missing := owners[0] + "." + field; !slices.Contains(c.missing, missing) {
		c.missing = append(c.missing, missing)
	}
}

// describe adds a description to the schema of a field.
func (c *schemas) describe(f Field, s Object) {
	c.retype(f, s)
	f.explain(s)
}

// retype sets the type of a schema as its field's description requires.
func (c *schemas) retype(f Field, s Object) {
	null := f.Rules[mayBeNull] == true
	if kinds, ok := s["type"].([]any); ok && slices.Contains(kinds, any("null")) {
		null = true
	}
	typed := s
	if t, ok := f.Rules[asType].(reflect.Type); ok {
		typed = maps.Clone(c.read(t))
	}
	typed = maps.Clone(typed)
	if kind, ok := f.Rules["type"]; ok {
		typed["type"] = kind
	}
	if null {
		typed = orNull(typed)
	}
	clear(s)
	maps.Copy(s, typed)
}

// read returns the schema of a type in requests.
func (c *schemas) read(t reflect.Type) Object {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s := c.overruled(direction{t, true}); s != nil {
		return s
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return Object{}
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[event.Time]():
		return c.component(direction{t, true}, func() Object { return c.body(t) })
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return Object{"type": "array", "items": c.read(t.Elem())}
	case t.Kind() == reflect.Map:
		return Object{"type": "object", "additionalProperties": c.read(t.Elem())}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		c.fail(fmt.Sprintf("%v has its own decoder, so Types must give its schema", t))
	}
	return c.answer(t)
}

// body returns the schema of a struct as the decoder of requests reads it.
func (c *schemas) body(t reflect.Type) Object {
	properties, required := Object{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name := jsonName(f)
		if name == "" || name == "-" {
			continue
		}
		tag := strings.Split(f.Tag.Get("strict"), ",")
		s := c.read(f.Type)
		if slices.Contains(tag, "null") {
			s = orNull(s)
		}
		c.note(declaredBy(t, f), f, s)
		properties[name] = s
		if slices.Contains(tag, "required") {
			required = append(required, name)
		}
	}
	o := Object{"type": "object", "properties": properties, "additionalProperties": c.api.Types[t].Open}
	if len(required) > 0 {
		slices.Sort(required)
		o["required"] = required
	}
	return o
}

// declaredBy returns the struct that declares f: t, or one embedded in it.
func declaredBy(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return t
}

// orNull returns s, or null, as a schema.
func orNull(s Object) Object {
	if _, several := s["type"].([]any); several {
		return s
	}
	if kind, ok := s["type"].(string); ok && s["enum"] == nil {
		s["type"] = []any{kind, "null"}
		return s
	}
	return Object{"oneOf": []Object{s, {"type": "null"}}}
}
