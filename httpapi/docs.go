package httpapi

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"postern/event"
)

//go:embed docs.html
var docsTemplate string

// docsPage is what docs.html shows.
type docsPage struct {
	Version string
	Groups  []docsGroup
	Events  []event.Descriptor
}

type docsGroup struct {
	Name       string
	Operations []docsOperation
}

type docsOperation struct {
	Route
	Summary string
	Query   []string
	Fields  []docsField // of the body
	Status  string
	Media   string
	Answer  []docsField
}

type docsField struct {
	Name, Type string
	Required   bool
}

// docsHTML is the page of GET /docs: the OpenAPI document to read.
func docsHTML(version string) ([]byte, error) {
	t, err := template.New("docs").Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("docs page: %w", err)
	}
	page := docsPage{Version: version, Events: event.Catalogue()}
	about := descriptions()
	for _, r := range Routes() {
		d := about[r.Method+" "+r.Path]
		op := docsOperation{Route: r, Summary: d.summary, Query: d.query, Media: d.media}
		op.Status = fmt.Sprint(d.status, " ", http.StatusText(d.status))
		if d.in != nil {
			op.Fields = docsFields(requestSchema(d.in))
		}
		if d.out != nil {
			op.Answer = answerFields(d.out)
		}
		name := tagOf(r.Path)
		i := slices.IndexFunc(page.Groups, func(g docsGroup) bool { return g.Name == name })
		if i < 0 {
			page.Groups, i = append(page.Groups, docsGroup{Name: name}), len(page.Groups)
		}
		page.Groups[i].Operations = append(page.Groups[i].Operations, op)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, page); err != nil {
		return nil, fmt.Errorf("docs page: %w", err)
	}
	return out.Bytes(), nil
}

// answerFields lists the fields of an answer, or of its elements when it is an
// array.
func answerFields(t reflect.Type) []docsField {
	schema := event.TypeSchema(t)
	if items, ok := schema["items"].(object); ok {
		schema = items
	}
	return docsFields(schema)
}

func docsFields(schema object) []docsField {
	properties, _ := schema["properties"].(object)
	required, _ := schema["required"].([]string)
	var all []docsField
	for name, s := range properties {
		all = append(all, docsField{name, typeName(s.(object)), slices.Contains(required, name)})
	}
	slices.SortFunc(all, func(a, b docsField) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// typeName is a schema in a few words.
func typeName(s object) string {
	if c, ok := s["const"]; ok {
		return fmt.Sprintf("%q", c)
	}
	if values, ok := s["enum"].([]string); ok {
		return strings.Join(values, ", ")
	}
	var name string
	switch kind := s["type"].(type) {
	case string:
		name = kind
	case []any:
		var kinds []string
		for _, k := range kind {
			kinds = append(kinds, fmt.Sprint(k))
		}
		name = strings.Join(kinds, " or ")
	default:
		return "any"
	}
	if items, ok := s["items"].(object); ok && name == "array" {
		name += " of " + typeName(items)
	}
	if format, ok := s["format"].(string); ok {
		name += " (" + format + ")"
	}
	return name
}

// document serves bytes that do not change.
func document(media string, content []byte) func(*api, *call) error {
	return func(_ *api, c *call) error {
		h := c.w.Header()
		h.Set("Content-Type", media)
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, err := c.w.Write(content)
		return err
	}
}
