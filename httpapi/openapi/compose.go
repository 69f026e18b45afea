package openapi

import (
	"maps"
	"reflect"
	"slices"
)

// compose writes a type that embeds another as the other with its own fields, if both are components.
// Otherwise a whole group would be in the document three times.
func (c *schemas) compose() {
	flat, bases := maps.Clone(c.all), []string{}
	for d, name := range c.names {
		if d.in || d.t.Kind() != reflect.Struct || c.api.Types[d.t].Schema != nil {
			continue
		}
		for f := range d.t.Fields() {
			base, known := c.names[direction{f.Type, false}]
			if !f.Anonymous || !known {
				continue
			}
			if rest := without(flat[name].(Object), flat[base].(Object), reference("schemas", base)); rest != nil {
				c.all[name] = rest
				bases = append(bases, base)
			}
			break
		}
	}
	for _, base := range bases {
		c.open(base)
	}
}

// open lets a component be part of others, which have further fields.
func (c *schemas) open(name string) {
	s := maps.Clone(c.all[name].(Object))
	delete(s, "additionalProperties")
	delete(s, "unevaluatedProperties")
	c.all[name] = s
}

// without splits a schema into base and the rest. It returns nil if the schema does not have all fields
// of base, unchanged. ref refers to base.
func without(whole, base, ref Object) Object {
	fields, ok := whole["properties"].(Object)
	common, has := base["properties"].(Object)
	required, _ := whole["required"].([]string)
	needed, _ := base["required"].([]string)
	if !ok || !has {
		return nil
	}
	own := maps.Clone(fields)
	for name, s := range common {
		if !reflect.DeepEqual(fields[name], s) {
			return nil
		}
		delete(own, name)
	}
	for _, name := range needed {
		if !slices.Contains(required, name) {
			return nil
		}
	}
	part := Object{"type": "object", "properties": own}
	if rest := slices.DeleteFunc(slices.Clone(required), func(name string) bool { return slices.Contains(needed, name) }); len(rest) > 0 {
		part["required"] = rest
	}
	outer := Object{"allOf": []Object{ref, part}, "unevaluatedProperties": false}
	if about, ok := whole["description"]; ok {
		outer["description"] = about
	}
	return outer
}
