package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"postern/event"
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
		return "/"
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
	if o.Credential != "" {
		op["security"] = []Object{{o.Credential: []string{}}}
	}
	if parameters := d.parameters(o, path); len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if content := d.bodies(o); len(content) > 0 {
		op["requestBody"] = Object{"required": d.needsBody(o), "content": content}
	}
	return op
}

// needsBody tells whether a request without a body lacks something.
func (d *document) needsBody(o Operation) bool {
	if o.In == nil || o.Form != nil {
		return true
	}
	s := d.body(o.In)
	return s["required"] != nil
}

// fileMedia are the bodies with a file.
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

// Required marks a query parameter that must be there.
func Required() Object { return Object{mustBeThere: true} }

func (d *document) answersOf(o Operation) Object {
	all := Object{}
	for _, a := range o.Answers {
		r := Object{"description": a.About}
		if a.About == "" {
			r["description"] = http.StatusText(a.Status)
		}
		content := Object{}
		if a.Type != nil {
			content["application/json"] = Object{"schema": d.answer(a.Type)}
		}
		if a.Status == http.StatusSwitchingProtocols {
			// What the messages are; also, generators leave out what no path uses.
			content["application/json"] = Object{"schema": reference("schemas", d.unionOf(o.ID))}
		}
		if a.Media != "" {
			content[a.Media] = Object{"schema": mediaSchema(a.Media)}
		}
		key := strconv.Itoa(a.Status)
		if before, ok := all[key].(Object); ok {
			maps.Copy(before["content"].(Object), content)
			continue
		}
		if len(content) > 0 {
			r["content"] = content
		}
		all[key] = r
	}
	for status, codes := range d.byStatus(o) {
		key := strconv.Itoa(status)
		if success, ok := all[key]; ok {
			all[key] = d.refused(success, codes)
			continue
		}
		all[key] = d.sharedRefusal(codes)
	}
	return all
}

// unionOf is the component of all messages of a socket.
func (d *document) unionOf(handshake string) string {
	for _, s := range d.api.Sockets {
		if s.ID == handshake {
			return s.Union
		}
	}
	d.fail(fmt.Sprintf("no socket has the handshake %s", handshake))
	return d.api.Sockets[0].Union
}

// sharedRefusal is the response of a status with these codes: a reference
// where it is a single one, for these are the same on most routes.
func (d *document) sharedRefusal(codes []Code) Object {
	if len(codes) > 1 {
		return d.refused(nil, codes)
	}
	name := words(strings.ToLower(codes[0].Code))
	if _, ok := d.responseParts[name]; !ok {
		d.responseParts[name] = d.refused(nil, codes)
	}
	return reference("responses", name)
}

// mediaSchema is the schema of a body that is no JSON.
func mediaSchema(media string) Object {
	if strings.HasPrefix(media, "text/") {
		return Object{"type": "string"}
	}
	if media == "application/json" {
		return Object{"type": "object"}
	}
	return Object{"type": "string", "format": "binary"}
}

func (d *document) byStatus(o Operation) map[int][]Code {
	all := map[int][]Code{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(o.Codes))) {
		i := slices.IndexFunc(d.api.Codes, func(c Code) bool { return c.Code == name })
		if i < 0 {
			d.fail(fmt.Sprintf("%s names the code %s, which does not exist", o.ID, name))
			continue
		}
		c := d.api.Codes[i]
		all[c.Status] = append(all[c.Status], c)
	}
	return all
}

// refused is the response of a status with its codes; success is the answer of
// the same status that is no refusal, or nil.
func (d *document) refused(success any, codes []Code) Object {
	lines, examples := []string{}, Object{}
	headers := Object{}
	for _, c := range codes {
		lines = append(lines, fmt.Sprintf("- `%s`: %s", c.Code, c.Meaning))
		examples[c.Code] = reference("examples", c.Code)
		if c.RetryAfter > 0 || c.Status == http.StatusTooManyRequests {
			headers["Retry-After"] = reference("headers", "RetryAfter")
		}
	}
	schema := d.refusal
	text := strings.Join(lines, "\n")
	if before, ok := success.(Object); ok {
		text = before["description"].(string) + "\n\n" + text
		if content, ok := before["content"].(Object); ok {
			schema = Object{"oneOf": []any{content["application/json"].(Object)["schema"], d.refusal}}
		}
	}
	o := Object{
		"description": text,
		"content":     Object{"application/json": Object{"schema": schema, "examples": examples}},
	}
	if len(headers) > 0 {
		o["headers"] = headers
	}
	return o
}

// refusals is one example of each code.
func (d *document) refusals() Object {
	all := Object{}
	for _, c := range d.api.Codes {
		all[c.Code] = Object{"summary": c.Meaning, "description": c.Next, "value": Object{
			"statusCode": c.Status, "error": strings.ReplaceAll(strings.ToLower(http.StatusText(c.Status)), " ", "-"),
			"code": c.Code, "messages": []string{c.Meaning}, "message": []string{c.Meaning},
			"requestId": exampleID,
		}}
	}
	return all
}

const exampleID = "6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10"

func headers() Object {
	return Object{
		"RetryAfter": Object{"description": "Seconds after which trying again may help.", "schema": Object{"type": "integer", "minimum": 1}},
	}
}

// events makes the components of all events.
func (d *document) events() {
	for _, e := range event.Catalogue() {
		s := d.answers().Event(e.Kind)
		s["description"] = aboutEvent(e)
		d.all[EventName(e.Kind)] = s
	}
	for _, socket := range d.api.Sockets {
		shapes, mapping := []Object{}, Object{}
		for _, kind := range socket.Events {
			ref := reference("schemas", EventName(event.Kind(kind)))
			shapes = append(shapes, ref)
			mapping[kind] = ref["$ref"]
		}
		d.all[socket.Union] = Object{
			"description": "Any event of this family; the field event tells which.", "oneOf": shapes,
			"discriminator": Object{"propertyName": "event", "mapping": mapping},
		}
	}
}

// EventName is the component of an event: MessagesUpsertEvent.
func EventName(k event.Kind) string { return words(string(k)) + "Event" }

// words joins the words of a name: messages.upsert becomes MessagesUpsert.
func words(name string) string {
	var b strings.Builder
	for _, w := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(".-_/{}", r) }) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

func aboutEvent(e event.Descriptor) string {
	about := fmt.Sprintf("Sent to the instance's webhook when its flag `%s` is set, to the global webhook, and on the WebSocket of the instance.", e.Flag)
	if e.Family == event.Batch {
		about = "Sent to the global webhook until it is accepted, and on the WebSocket of the batch's owner."
	}
	if e.Gate != event.NoGate {
		about += fmt.Sprintf(" Needs `%s`.", e.Gate)
	}
	return about
}

// webhooks describes what receivers get, by event.
func (d *document) webhooks() Object {
	all := Object{}
	for _, e := range event.Catalogue() {
		examples := Object{}
		for _, x := range event.Examples(e.Kind) {
			body, err := event.ExampleBody(e.Kind, x)
			var value any
			if err == nil {
				err = json.Unmarshal(body, &value)
			}
			if err != nil {
				d.fail(fmt.Sprintf("the example %s of %s: %v", x.Name, e.Kind, err))
			}
			examples[x.Name] = Object{"value": value}
		}
		all[string(e.Kind)] = Object{"post": Object{
			"operationId": "on" + words(string(e.Kind)), "summary": "The event " + string(e.Kind),
			"description": aboutEvent(e), "tags": []string{eventsTag}, "security": []Object{},
			"requestBody": Object{"required": true, "content": Object{"application/json": Object{
				"schema": reference("schemas", EventName(e.Kind)), "examples": examples,
			}}},
			"responses": Object{
				"2XX": Object{"description": "Accepted."},
				"4XX": Object{"description": "Not accepted, like every other status: an instance event is lost then, a batch event is tried again."},
			},
		}}
	}
	return all
}

// prune removes the components that nothing refers to.
func prune(doc Object) {
	components := doc["components"].(Object)
	for {
		used := map[string]bool{}
		references(doc, used)
		removed := false
		for kind, part := range components {
			all, ok := part.(Object)
			if !ok || kind == "securitySchemes" {
				continue
			}
			for name := range all {
				if !used["#/components/"+kind+"/"+name] {
					delete(all, name)
					removed = true
				}
			}
		}
		if !removed {
			return
		}
	}
}

// references collects what a part of a document refers to.
func references(part any, found map[string]bool) {
	switch part := part.(type) {
	case Object:
		for key, v := range part {
			if to, ok := v.(string); ok && (key == "$ref" || strings.HasPrefix(to, "#/components/")) {
				found[to] = true
			}
			references(v, found)
		}
	case []Object:
		for _, v := range part {
			references(v, found)
		}
	case []any:
		for _, v := range part {
			references(v, found)
		}
	}
}
