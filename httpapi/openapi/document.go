package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Documents are what [Build] makes of an [API].
type Documents struct {
	OpenAPI  Object
	AsyncAPI Object
	Codes    []Code
	Order    []string // ids of the operations, as the page is to have them

	// What the tables lack. Tests hold the lists empty.
	Undescribed []string // "Component.field" that Fields has no words for
	Unused      []string // keys of Fields that describe nothing
	Problems    []string // two types of one name, unknown codes, examples that are no JSON
}

// Build writes the documents. They are whole whatever is missing in the tables,
// so that a program does not fail for its documentation.
func Build(api API) Documents {
	d := &document{api: &api, schemas: newSchemas(&api), responseParts: Object{}}
	d.refusal = d.answer(api.Refusal)
	d.events()
	var order []string
	for _, o := range api.Operations {
		order = append(order, o.ID)
		for _, a := range o.Answers {
			if a.Type != nil {
				d.answer(a.Type) // before any request: see component
			}
		}
	}
	paths := d.paths()
	webhooks := d.webhooks()
	docs := Documents{
		Codes: api.Codes, Order: order,
		OpenAPI: Object{
			"openapi": "3.1.0",
			"info": Object{
				"title": api.Title, "version": api.Version, "description": api.About,
				"contact": Object{"name": api.Title},
				"license": Object{"name": "GPL-3.0-or-later", "identifier": "GPL-3.0-or-later"},
			},
			"servers":  []Object{{"url": api.server(), "description": "This program."}},
			"tags":     d.tags(),
			"paths":    paths,
			"webhooks": webhooks,
			"components": Object{
				"schemas": d.all, "securitySchemes": api.Credentials,
				"responses": d.responseParts, "examples": d.refusals(), "headers": headers(),
			},
		},
		AsyncAPI: d.asyncAPI(),
	}
	prune(docs.OpenAPI)
	for key := range api.Fields {
		if !d.explained[key] {
			docs.Unused = append(docs.Unused, key)
		}
	}
	slices.Sort(docs.Unused)
	slices.Sort(d.missing)
	docs.Undescribed, docs.Problems = d.missing, d.problems
	return docs
}

func (a *API) server() string {
	if a.Server == "" {
		return cmp.Or(a.Base, "/")
	}
	return strings.TrimSuffix(a.Server, "/")
}

type document struct {
	*schemas

	api     *API
	refusal Object // reference

	responseParts Object // shared responses by name
}

// eventsTag is the group of the webhooks.
const eventsTag = "Events"

func (d *document) tags() []Object {
	all := []Object{}
	for _, t := range d.api.Tags {
		all = append(all, Object{"name": t.Name, "description": t.About})
	}
	return append(all, Object{"name": eventsTag, "description": "What is posted to webhooks, and sent on WebSockets."})
}

func (d *document) paths() Object {
	all := Object{}
	put := func(method, path string, o Object) {
		on, ok := all[path].(Object)
		if !ok {
			on = Object{}
			all[path] = on
		}
		on[strings.ToLower(method)] = o
	}
	for _, o := range d.api.Operations {
		put(o.Method, o.Path, d.operation(o, o.Path))
		for _, a := range o.Aliases {
			path, again := distinct(a.Path)
			older := d.operation(o, path)
			older["operationId"], older["deprecated"], older[aliasOf] = a.ID, true, o.ID
			older["description"] = paragraphs(fmt.Sprintf("An older path of `%s %s`, which means the same.", o.Method, o.Path), again, o.Summary, o.About)
			put(o.Method, path, older)
		}
	}
	return all
}

// aliasOf names, in the description of an older path, the operation of the
// current one.
const aliasOf = "x-alias-of"

// distinct renames a parameter that a path has twice, which a document cannot
// have.
func distinct(path string) (renamed, about string) {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") && slices.Contains(segments[:i], s) {
			segments[i] = "{again}"
			about = "The last segment repeats " + strings.Trim(s, "{}") + "."
		}
	}
	return strings.Join(segments, "/"), about
}

func paragraphs(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "\n\n")
}

func (d *document) operation(o Operation, path string) Object {
	op := Object{
		"operationId": o.ID, "summary": strings.TrimSuffix(o.Summary, "."), "description": paragraphs(o.Summary, o.About), "tags": []string{o.Tag},
		"responses": d.answersOf(o), "security": []Object{},
	}
	op["security"] = securityOf(o.Credentials)
	if parameters := d.parameters(o, path); len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if content := d.bodies(o); len(content) > 0 {
		op["requestBody"] = Object{"required": d.needsBody(o), "content": content}
	}
	return op
}

// securityOf lists alternatives. Several scopes in one of them would all be needed.
func securityOf(credentials []Credential) []Object {
	all := []Object{}
	for _, c := range credentials {
		if len(c.Scopes) == 0 {
			all = append(all, Object{c.Name: []string{}})
		}
		for _, s := range c.Scopes {
			all = append(all, Object{c.Name: []string{s}})
		}
	}
	return all
}

// needsBody tells whether a request without a body lacks something.
func (d *document) needsBody(o Operation) bool {
	if o.In == nil || o.Form != nil {
		return true
	}
	s := d.body(o.In)
	return s["required"] != nil
}

// formMedia is the type of a body with a file.
const formMedia = "multipart/form-data"

// bodies are those that an operation takes, by content type.
func (d *document) bodies(o Operation) Object {
	content := Object{}
	if o.In != nil {
		body := Object{"schema": d.read(o.In)}
		if o.Example != "" {
			var example any
			if err := json.Unmarshal([]byte(o.Example), &example); err != nil {
				d.fail(fmt.Sprintf("the example of %s: %v", o.ID, err))
			}
			body["example"] = example
		}
		content["application/json"] = body
	}
	if o.Form != nil {
		content[formMedia] = Object{"schema": d.form(o)}
	}
	return content
}

func (d *document) form(o Operation) Object {
	name := strings.ToUpper(o.ID[:1]) + o.ID[1:] + "Form"
	if _, ok := d.all[name]; !ok {
		fields := Object{o.File: Object{
			"type": "string", "format": "binary", "description": "The file itself.",
		}}
		for _, field := range o.Form {
			s := Object{"type": "string"}
			d.explain(field, s, name, "Form")
			fields[field] = s
		}
		d.all[name] = Object{"type": "object", "properties": fields, "required": []string{o.File}, "additionalProperties": false}
	}
	return reference("schemas", name)
}

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
