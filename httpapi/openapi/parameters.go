package openapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

func (d *document) parameters(o Operation, path string) []Object {
	var all []Object
	for segment := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(segment, "{") {
			all = append(all, d.parameter(o, "path", strings.Trim(segment, "{}"), segment))
		}
	}
	for _, name := range o.Query {
		all = append(all, d.parameter(o, "query", name, "?"+name))
	}
	if o.Once {
		all = append(all, d.parameter(o, "header", "Idempotency-Key", "Idempotency-Key"))
	}
	return all
}

func (d *document) parameter(o Operation, in, name, key string) Object {
	s := Object{"type": "string"}
	d.explain(key, s, o.ID)
	about, _ := s["description"].(string)
	delete(s, "description")
	p := Object{"name": name, "in": in, "description": about, "schema": s}
	if in == "path" || s[mustBeThere] == true {
		p["required"] = true
	}
	delete(s, mustBeThere)
	if examples, ok := s["examples"].([]any); ok {
		p["example"] = examples[0]
		delete(s, "examples")
	}
	return p
}

// sharedFrom is the number of operations from which a parameter becomes a component.
const sharedFrom = 4

// shareParameters makes components of the parameters that many operations have, and replaces them by
// references. Of several parameters with the same name, it shares the most frequent one.
func (d *document) shareParameters(paths ...Object) {
	type use struct {
		parameter Object
		of        []*Object // where it stands
	}
	uses := map[string]*use{}
	for _, all := range paths {
		for _, on := range all {
			for _, o := range on.(Object) {
				list, _ := o.(Object)["parameters"].([]Object)
				for i := range list {
					text, err := json.Marshal(list[i])
					if err != nil {
						d.fail("a parameter is no JSON: " + err.Error())
						continue
					}
					if uses[string(text)] == nil {
						uses[string(text)] = &use{parameter: list[i]}
					}
					uses[string(text)].of = append(uses[string(text)].of, &list[i])
				}
			}
		}
	}
	frequent := slices.SortedFunc(maps.Keys(uses), func(a, b string) int {
		return cmp.Or(len(uses[b].of)-len(uses[a].of), strings.Compare(a, b))
	})
	for _, text := range frequent {
		u := uses[text]
		name := words(u.parameter["name"].(string)) + "Parameter"
		if _, taken := d.parameterParts[name]; taken || len(u.of) < sharedFrom {
			continue
		}
		d.parameterParts[name] = u.parameter
		for _, place := range u.of {
			*place = reference("parameters", name)
		}
	}
}
