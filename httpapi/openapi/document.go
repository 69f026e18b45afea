package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Documents are the documents that [Build] makes of an [API].
type Documents struct {
	OpenAPI  Object
	Aliases  Object // OpenAPI too, of the older paths
	AsyncAPI Object
	Codes    []Code
	Order    []string // ids of the operations, as the page is to have them

	// Gaps in the tables. Tests require these lists to be empty.
	Undescribed []string // "Component.field" that Fields has no words for
	Unused      []string // keys of Fields that describe nothing
	Problems    []string // two types of one name, unknown codes, examples that are no JSON
}

// Build writes the documents. They are complete even if the tables have gaps, so that the program does
// not fail because of its documentation.
func Build(api API) Documents {
	d := &document{api: &api, schemas: newSchemas(&api), responseParts: Object{}, refusalSets: map[string]string{}, parameterParts: Object{}}
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
	paths, older := d.paths()
	webhooks := d.webhooks()
	d.shareParameters(paths, older)
	d.compose()
	docs := Documents{Codes: api.Codes, Order: order}
	docs.OpenAPI = d.whole(api.Title, api.About+"\n\nOlder paths with the same meaning are in [a document of their own]("+api.server()+api.AliasesPath+").", paths)
	docs.OpenAPI["webhooks"] = webhooks
	docs.Aliases = d.whole(api.Title+" (older paths)", "Paths of older clients. Each is another name of the operation that x-alias-of names, of [the document]("+api.server()+api.DocumentPath+") of the current paths.", older)
	if api.Server != "" { // their addresses have to be absolute
		docs.OpenAPI["externalDocs"] = Object{"description": "The older paths.", "url": api.server() + api.AliasesPath}
		docs.Aliases["externalDocs"] = Object{"description": "The current paths.", "url": api.server() + api.DocumentPath}
	}
	docs.AsyncAPI = d.asyncAPI()
	prune(docs.Aliases)
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

// whole returns a document of some paths, with all components.
func (d *document) whole(title, about string, paths Object) Object {
	return Object{
		"openapi": "3.1.0",
		"info": Object{
			"title": title, "version": d.api.Version, "description": about,
			"contact": Object{"name": d.api.Title},
			"license": Object{"name": "GPL-3.0-or-later", "identifier": "GPL-3.0-or-later"},
		},
		"servers": []Object{{"url": cmp.Or(d.api.server(), "/"), "description": "This program."}},
		"tags":    d.tags(),
		"paths":   paths,
		"components": Object{
			"schemas": maps.Clone(d.all), "securitySchemes": d.api.Credentials,
			"responses": maps.Clone(d.responseParts), "parameters": maps.Clone(d.parameterParts), "headers": headers(),
		},
	}
}

// server returns the address that precedes all paths, without a slash at the end.
func (a *API) server() string {
	if a.Server == "" {
		return a.Base
	}
	return strings.TrimSuffix(a.Server, "/")
}

type document struct {
	*schemas

	api     *API
	refusal Object // reference

	responseParts  Object            // shared responses by name
	refusalSets    map[string]string // their names by status and codes
	parameterParts Object            // shared parameters by name
}

// eventsTag is the group of the webhooks.
const eventsTag = "Events"

func (d *document) tags() []Object {
	all := []Object{}
	for _, t := range d.api.Tags {
		all = append(all, Object{"name": t.Name, "description": t.About})
	}
	return append(all, Object{"name": eventsTag, "description": "Events posted to webhooks and sent on WebSockets."})
}

// paths returns the operations by path and method: those of current paths, and those of older ones.
func (d *document) paths() (current, older Object) {
	current, older = Object{}, Object{}
	put := func(all Object, method, path string, o Object) {
		on, ok := all[path].(Object)
		if !ok {
			on = Object{}
			all[path] = on
		}
		on[strings.ToLower(method)] = o
	}
	for _, o := range d.api.Operations {
		put(current, o.Method, o.Path, d.operation(o, o.Path))
		for _, a := range o.Aliases {
			path, again := distinct(a.Path)
			alias := d.operation(o, path)
			alias["operationId"], alias["deprecated"], alias[aliasOf] = a.ID, true, o.ID
			alias["description"] = paragraphs(fmt.Sprintf("An older path of `%s %s`, which means the same.", o.Method, o.Path), again, o.Summary, o.About)
			put(older, o.Method, path, alias)
		}
	}
	return current, older
}

// aliasOf names the current operation in the description of an older path.
const aliasOf = "x-alias-of"

// distinct renames a parameter that occurs twice in a path, which a document does not allow.
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

// securityOf lists alternatives. Several scopes in one alternative would all be required.
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

// needsBody reports whether the body of a request is required.
func (d *document) needsBody(o Operation) bool {
	if o.In == nil || o.Form != nil {
		return true
	}
	s := d.body(o.In)
	return s["required"] != nil
}

// formMedia is the type of a body with a file.
const formMedia = "multipart/form-data"

// bodies returns the request bodies of an operation, by content type.
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
	name := capital(o.ID) + "Form"
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
