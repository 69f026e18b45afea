package events

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"postern/event"
	"postern/httpapi"
)

// TestNewEventIsComplete reports at once all that a new row of the catalogue needs
// and the compiler does not require: the file, and what to add.
func TestNewEventIsComplete(t *testing.T) {
	c := newCompleteness(t)
	for _, d := range event.Catalogue() {
		c.about = string(d.Kind)
		c.contains("event/contract_test.go", strconv.Quote(string(d.Kind)), "a row")
		for _, e := range event.Examples(d.Kind) {
			c.exists("event/testdata/"+string(d.Kind)+"."+e.Name+".json", "go test ./event -update")
		}
		if d.Family == event.Instance {
			c.instanceEvent(d)
		} else {
			c.need("batch/table/table.go", c.sources["batch"], c.constant(d.Kind), "the row of a transition or the commit that emits it")
			c.contains("docs/batches.md", "\n| `"+string(d.Kind)+"` |", "a row")
		}
	}
}

func (c *completeness) instanceEvent(d event.Descriptor) {
	c.need("whatsapp/translate or instance/", c.sources["whatsapp"]+c.sources["instance"]+c.sources["messages"], c.constant(d.Kind), "the code that makes the event")
	for _, field := range c.unexplained(d.Kind) {
		c.missing("httpapi, docs_event.go", "the description of "+field)
	}
	rows := triggerTable()
	for _, trigger := range d.Triggers {
		if !slices.ContainsFunc(rows, func(r triggerRow) bool { return r.kind == d.Kind && r.trigger == trigger }) {
			c.missing("e2e/events/table_test.go", "a row for the trigger "+trigger+" (and sandbox/act_*.go, an act that provokes it)")
		}
	}
	for _, value := range typesOf(d.Kind) {
		if !slices.ContainsFunc(rows, func(r triggerRow) bool { return r.kind == d.Kind && r.typ == value }) {
			c.missing("e2e/events/table_test.go", "a row for the "+variantKey(d.Kind)+" "+value)
		}
	}
	for _, language := range []string{"en", "es", "pt"} {
		c.contains("console/page/console/words/"+language+"/instances.js", fmt.Sprintf("\n%q: ", "event."+string(d.Flag)), "a text")
	}
	c.contains("console/page/console/data/events.js", fmt.Sprintf("  %s: %q,\n", d.Flag, d.Kind), "run make docs")
	c.contains("docs/events.md", "\n## "+string(d.Kind)+"\n\nFlag `"+string(d.Flag)+"`", "run make docs")
}

// completeness reports what an event lacks.
type completeness struct {
	t         *testing.T
	about     string
	sources   map[string]string // by top folder, without tests
	constants map[event.Kind]string
	document  map[string]any
}

func newCompleteness(t *testing.T) *completeness {
	t.Helper()
	c := &completeness{t: t, sources: map[string]string{}, constants: map[event.Kind]string{}}
	for _, folder := range []string{"whatsapp", "instance", "messages", "batch"} {
		c.sources[folder] = sourcesOf(t, folder)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "event/catalogue.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			c.constants[event.Kind(value)] = spec.Names[0].Name
		}
		return true
	})
	raw, err := httpapi.OpenAPI("", "test")
	if err != nil || json.Unmarshal(raw, &c.document) != nil {
		t.Fatal(err)
	}
	return c
}

// sourcesOf returns the text of the Go files in a folder, without tests.
func sourcesOf(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		all.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// constant is a pattern that matches the uses of an event outside package event.
func (c *completeness) constant(kind event.Kind) string {
	return `\bevent\.` + c.constants[kind] + `\b`
}

// unexplained returns the fields of an event's data that the OpenAPI document does not
// describe.
func (c *completeness) unexplained(kind event.Kind) (fields []string) {
	components := c.document["components"].(map[string]any)["schemas"].(map[string]any)
	for name, part := range components {
		body := part.(map[string]any)
		if body["title"] != string(kind) {
			continue
		}
		data := body["properties"].(map[string]any)["data"].(map[string]any)
		if items, is := data["items"].(map[string]any); is {
			data = items
		}
		if ref, is := data["$ref"].(string); is {
			name = ref[strings.LastIndex(ref, "/")+1:]
			data = components[name].(map[string]any)
		}
		properties, _ := data["properties"].(map[string]any)
		for field, p := range properties {
			if text, _ := p.(map[string]any)["description"].(string); text == "" {
				fields = append(fields, name+"."+field)
			}
		}
	}
	slices.Sort(fields)
	return fields
}

func (c *completeness) missing(file, what string) {
	c.t.Errorf("%s lacks, in %s: %s", c.about, file, what)
}

func (c *completeness) exists(file, what string) {
	if _, err := os.Stat(file); err != nil {
		c.missing(file, what)
	}
}

func (c *completeness) contains(file, text, what string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	if !strings.Contains(string(raw), text) {
		c.missing(file, what)
	}
}

func (c *completeness) need(file, source, pattern, what string) {
	if !regexp.MustCompile(pattern).MatchString(source) {
		c.missing(file, what)
	}
}
