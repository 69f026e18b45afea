package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strings"

	"postern/event"
)

// The page is one file: style and script are put into it, and its policy names
// them by their hashes.
var (
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// Page is the documentation page, with the policy that the browser must enforce.
type Page struct {
	HTML   []byte
	Policy string
}

// NewPage makes the page of the documents. It loads no external resources, and
// connects only to its own server.
func NewPage(docs Documents) (Page, error) {
	view, err := viewOf(docs)
	if err != nil {
		return Page{}, err
	}
	var w markupWriter
	w.page(view)
	policy := "default-src 'none'; style-src " + hashOf(pageStyle) + "; script-src " + hashOf(pageScript) +
		"; connect-src 'self'; img-src blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return Page{w.Bytes(), policy}, nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// pageView is the content of the page.
type pageView struct {
	Title, Version string
	Base           string // path before all paths, empty or such as /postern
	About          []string
	Groups         []pageGroup
	Events         []pageEvent
	Codes          []Code
	Schemas        []pageSchema
}

type pageGroup struct {
	Name, About string
	Operations  []*pageOperation
}

type pageOperation struct {
	ID, Method, Path, Summary string
	About                     []string
	Credential                string   // the usual one; empty: none
	Others                    []string // that do, too, with their scope
	Aliases                   []string // method and path
	Parameters                []pageParameter
	Body                      *pageBody // JSON
	Form                      *pageBody // multipart
	Answers                   []pageAnswer
	Refusals                  []pageRefusal
	Samples                   []sample
	Socket                    bool
}

type pageParameter struct {
	In, Name, About, Example, Type string
	Required                       bool
}

type pageBody struct {
	Schema  string // the component's name
	Fields  []pageField
	Example string
}

type pageField struct {
	Name, About, Example string
	Type                 []typePart
	Required             bool
	File                 bool
}

// typePart is a piece of a type in words; Ref is the component that it refers to.
type typePart struct{ Text, Ref string }

type pageAnswer struct {
	Status, About, Media string
	Type                 []typePart
}

type pageRefusal struct {
	Status string
	Codes  []string
}

type pageEvent struct{ Name, Schema, About string }

type pageSchema struct {
	Name, About string
	Fields      []pageField
	Type        []typePart // of what is no object
}

// viewOf reads the document through JSON, so that the page has the same contents as clients.
func viewOf(docs Documents) (pageView, error) {
	doc, err := plainly(docs.OpenAPI)
	if err != nil {
		return pageView{}, err
	}
	older, err := plainly(docs.Aliases)
	if err != nil {
		return pageView{}, err
	}
	return newPageView(doc, older, docs), nil
}

// plainly returns a document as a client decodes it.
func plainly(o Object) (doc Object, err error) {
	raw, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	return doc, err
}

// aliasesIn returns the older paths with their methods, by the current operation.
func aliasesIn(doc Object) map[string][]string {
	older := map[string][]string{}
	paths := doc["paths"].(Object)
	for _, path := range sortedKeys(paths) {
		for _, method := range sortedKeys(paths[path].(Object)) {
			target := text(paths[path].(Object)[method].(Object), aliasOf)
			older[target] = append(older[target], strings.ToUpper(method)+" "+path)
		}
	}
	return older
}

// resolved returns a part of a document, following a reference.
func resolved(doc, part Object) Object {
	kind, name, ok := strings.Cut(strings.TrimPrefix(text(part, "$ref"), "#/components/"), "/")
	if !ok {
		return part
	}
	return doc["components"].(Object)[kind].(Object)[name].(Object)
}

// basePath returns the path of the server that a document names.
func basePath(doc Object) string {
	u, err := url.Parse(text(doc["servers"].([]any)[0].(Object), "url"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.EscapedPath(), "/")
}

func newPageView(doc, aliases Object, docs Documents) pageView {
	info := doc["info"].(Object)
	v := pageView{
		Base:  basePath(doc),
		Title: text(info, "title"), Version: text(info, "version"), About: strings.Split(text(info, "description"), "\n\n"), Codes: docs.Codes,
	}
	byTag, older := map[string][]*pageOperation{}, aliasesIn(aliases)
	paths := doc["paths"].(Object)
	for _, path := range sortedKeys(paths) {
		for _, method := range sortedKeys(paths[path].(Object)) {
			o := paths[path].(Object)[method].(Object)
			tag := o["tags"].([]any)[0].(string)
			byTag[tag] = append(byTag[tag], newPageOperation(doc, strings.ToUpper(method), path, o))
		}
	}
	for _, t := range doc["tags"].([]any) {
		g := pageGroup{Name: text(t.(Object), "name"), About: text(t.(Object), "description"), Operations: byTag[text(t.(Object), "name")]}
		slices.SortFunc(g.Operations, func(a, b *pageOperation) int {
			return slices.Index(docs.Order, a.ID) - slices.Index(docs.Order, b.ID)
		})
		for _, o := range g.Operations {
			o.Aliases = older[o.ID]
		}
		if len(g.Operations) > 0 {
			v.Groups = append(v.Groups, g)
		}
	}
	webhooks := doc["webhooks"].(Object)
	for _, name := range sortedKeys(webhooks) {
		post := webhooks[name].(Object)["post"].(Object)
		media := post["requestBody"].(Object)["content"].(Object)["application/json"].(Object)
		v.Events = append(v.Events, pageEvent{name, refName(media["schema"].(Object)), text(post, "description")})
	}
	schemas := doc["components"].(Object)["schemas"].(Object)
	for _, name := range sortedKeys(schemas) {
		v.Schemas = append(v.Schemas, newPageSchema(doc, name, schemas[name].(Object)))
	}
	return v
}

func newPageOperation(doc Object, method, path string, o Object) *pageOperation {
	p := &pageOperation{
		ID: text(o, "operationId"), Method: method, Path: path, Summary: text(o, "summary"),
		About: strings.Split(text(o, "description"), "\n\n")[1:],
	}
	for _, s := range o["security"].([]any) {
		for name, scopes := range s.(Object) {
			if p.Credential == "" {
				p.Credential = name
			} else {
				p.Others = append(p.Others, strings.TrimSpace(name+" "+strings.Join(texts(scopes), " ")))
			}
		}
	}
	parameters, _ := o["parameters"].([]any)
	for _, x := range parameters {
		q := resolved(doc, x.(Object))
		schema := q["schema"].(Object)
		example := ""
		if q["example"] != nil {
			example = fmt.Sprint(q["example"])
		}
		p.Parameters = append(p.Parameters, pageParameter{
			In: text(q, "in"), Name: text(q, "name"), About: text(q, "description"), Example: example, Type: plain(typeOf(schema)), Required: q["required"] == true,
		})
	}
	if body, ok := o["requestBody"].(Object); ok {
		content := body["content"].(Object)
		p.Body, p.Form = newPageBody(doc, content["application/json"]), newPageBody(doc, content[formMedia])
	}
	p.answers(doc, o["responses"].(Object))
	_, p.Socket = o["responses"].(Object)["101"]
	p.Samples = samplesOf(p)
	return p
}

func newPageBody(doc Object, media any) *pageBody {
	m, ok := media.(Object)
	if !ok {
		return nil
	}
	name := refName(m["schema"].(Object))
	b := &pageBody{Schema: name}
	if schema, ok := doc["components"].(Object)["schemas"].(Object)[name].(Object); ok {
		b.Fields = fieldsOf(doc, schema)
	}
	if m["example"] != nil {
		raw, err := event.Marshal(m["example"])
		var lines bytes.Buffer
		if err == nil && json.Indent(&lines, raw, "", "  ") == nil {
			b.Example = lines.String()
		}
	}
	return b
}

func (p *pageOperation) answers(doc Object, responses Object) {
	for _, status := range sortedKeys(responses) {
		r := resolved(doc, responses[status].(Object))
		content, _ := r["content"].(Object)
		json, _ := content["application/json"].(Object)
		if codes := texts(r[codesOf]); codes != nil {
			p.Refusals = append(p.Refusals, pageRefusal{status, codes})
			continue
		}
		a := pageAnswer{Status: status, About: text(r, "description")}
		for _, media := range sortedKeys(content) {
			if media != "application/json" || json["schema"] == nil {
				a.Media = media
			}
		}
		if schema, ok := json["schema"].(Object); ok {
			a.Type = typeOf(schema)
		}
		p.Answers = append(p.Answers, a)
	}
}

func newPageSchema(doc Object, name string, schema Object) pageSchema {
	s := pageSchema{Name: name, About: text(schema, "description"), Fields: fieldsOf(doc, schema)}
	if len(s.Fields) == 0 {
		s.Type = typeOf(schema)
	}
	return s
}

// merged returns an object with the fields of all its parts.
func merged(doc, schema Object) (properties Object, required []any) {
	properties = Object{}
	parts, _ := schema["allOf"].([]any)
	for _, part := range parts {
		p, r := merged(doc, resolved(doc, part.(Object)))
		maps.Copy(properties, p)
		required = append(required, r...)
	}
	own, _ := schema["properties"].(Object)
	maps.Copy(properties, own)
	needed, _ := schema["required"].([]any)
	return properties, append(required, needed...)
}

// fieldsOf returns the fields of an object, the required ones first.
func fieldsOf(doc, schema Object) []pageField {
	properties, required := merged(doc, schema)
	var all []pageField
	for _, name := range sortedKeys(properties) {
		s := properties[name].(Object)
		f := pageField{Name: name, About: text(s, "description"), Type: typeOf(s), Required: slices.Contains(required, any(name)), File: s["format"] == "binary"}
		if examples, ok := s["examples"].([]any); ok && len(examples) > 0 {
			raw, err := event.Marshal(examples[0])
			if err == nil {
				f.Example = string(raw)
			}
		}
		all = append(all, f)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Required && !all[j].Required })
	return all
}

func text(o Object, key string) string {
	s, _ := o[key].(string)
	return s
}

// texts returns the strings of a list.
func texts(list any) (all []string) {
	values, _ := list.([]any)
	for _, v := range values {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

func refName(schema Object) string {
	name, _ := strings.CutPrefix(text(schema, "$ref"), "#/components/schemas/")
	return name
}

func sortedKeys(o Object) []string {
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
