package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/event/witness"
)

var update = flag.Bool("update", false, "write the golden files from the examples")

func goldenFile(kind Kind, e Example) string {
	return filepath.Join("testdata", string(kind)+"."+e.Name+".json")
}

func eachExample(t *testing.T, visit func(t *testing.T, kind Kind, e Example, body []byte)) {
	t.Helper()
	for _, d := range Catalogue() {
		for _, e := range Examples(d.Kind) {
			t.Run(string(d.Kind)+"/"+e.Name, func(t *testing.T) {
				body, err := ExampleBody(d.Kind, e)
				if err != nil {
					t.Fatal(err)
				}
				visit(t, d.Kind, e, body)
			})
		}
	}
}

func TestExamplesEqualGoldenFiles(t *testing.T) {
	stale := map[string]bool{}
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		stale[f] = true
	}
	eachExample(t, func(t *testing.T, kind Kind, e Example, body []byte) {
		file := goldenFile(kind, e)
		delete(stale, file)
		body = append(body, '\n')
		if *update {
			if err := os.WriteFile(file, body, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(body, want) {
			t.Errorf("%v\n got %swant %s", err, body, want)
		}
	})
	for f := range stale {
		t.Errorf("%s belongs to no example", f)
	}
}

// schemas is the witness of all tests.
var schemas = witness.New(SchemaJSON)

func check(kind Kind, body []byte) error { return schemas.Check(kind, body) }

func TestEveryExampleFitsItsSchema(t *testing.T) {
	eachExample(t, func(t *testing.T, kind Kind, _ Example, body []byte) {
		if err := check(kind, body); err != nil {
			t.Errorf("%v\n%s", err, body)
		}
	})
}

// dataOf is data's schema and value, of the first item where data is an array
// and of the batch where it is about one.
func dataOf(t *testing.T, kind Kind, body []byte) (schema, value object) {
	t.Helper()
	var envelope struct{ Data any }
	if err := json.Unmarshal(body, &envelope); err != nil {
		t.Fatal(err)
	}
	schema = dataSchema(kind)
	v := envelope.Data
	if list, ok := v.([]any); ok {
		v = list[0]
	}
	value = v.(object)
	if kind == GroupsUpdate {
		schema, value = propertiesOf(schema)["partial"].(object), value["partial"].(object)
	}
	if batch, ok := value["batch"].(object); ok {
		schema, value = propertiesOf(schema)["batch"].(object), batch
	}
	if shapes, ok := schema["oneOf"].([]object); ok {
		schema = shapes[0]
	}
	return schema, value
}

func TestFullAndLeastExamplesHaveTheirFields(t *testing.T) {
	eachExample(t, func(t *testing.T, kind Kind, e Example, body []byte) {
		schema, value := dataOf(t, kind, body)
		got, want := slices.Sorted(maps.Keys(value)), schema["required"].([]string)
		switch e.Name {
		case "full":
			want = slices.Sorted(maps.Keys(propertiesOf(schema)))
			if kind == ConnectionUpdated { // a key of one type only, which has an example of its own
				want = slices.DeleteFunc(want, func(key string) bool { return key == "passkey" })
			}
			declared := func(key string) bool { return slices.Contains(want, key) }
			if open := schema["additionalProperties"] != false; open == !slices.ContainsFunc(got, func(k string) bool { return !declared(k) }) {
				t.Errorf("extra keys are allowed: %t, keys %v", open, got)
			}
			got = slices.DeleteFunc(got, func(key string) bool { return !declared(key) })
		case "least":
		default:
			return
		}
		if !slices.Equal(got, want) {
			t.Errorf("keys %v, want %v", got, want)
		}
	})
}

func TestEveryTypeAndStatusHasAnExample(t *testing.T) {
	for _, d := range Catalogue() {
		seen := map[string]map[any]bool{}
		var schema object
		for _, e := range Examples(d.Kind) {
			body, err := ExampleBody(d.Kind, e)
			if err != nil {
				t.Fatal(err)
			}
			var value object
			schema, value = dataOf(t, d.Kind, body)
			for key, v := range value {
				if text, ok := v.(string); ok {
					if seen[key] == nil {
						seen[key] = map[any]bool{}
					}
					seen[key][text] = true
				}
			}
		}
		for key, p := range propertiesOf(schema) {
			enum, _ := p.(object)["enum"].([]string)
			for _, v := range enum {
				if !seen[key][v] {
					t.Errorf("%s: no example has the %s %q", d.Kind, key, v)
				}
			}
		}
	}
}

func TestEveryEventHasExamples(t *testing.T) {
	for _, d := range Catalogue() {
		all := Examples(d.Kind)
		names := map[string]bool{}
		for _, e := range all {
			if names[e.Name] {
				t.Errorf("%s has two examples %q", d.Kind, e.Name)
			}
			names[e.Name] = true
		}
		if !names["full"] || !names["least"] || ExampleData(d.Kind) == nil {
			t.Errorf("%s has only the examples %v", d.Kind, names)
		}
	}
	if Examples("no.such") != nil || ExampleData("no.such") != nil || Schema("no.such") != nil {
		t.Error("there is an example or schema of an unknown event")
	}
}

func TestASchemaRefusesEachFaultAtItsPlace(t *testing.T) {
	good, err := os.ReadFile("testdata/call.upsert.full.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := check(CallUpsert, good); err != nil {
		t.Fatal(err)
	}
	for fault, change := range map[string][2]string{
		"at '/data': missing property 'chatId'":                    {`"chatId":"120363000000000001@g.us",`, ``},
		"at '/data/from': got null, want string":                   {`"from":"4915155500002@s.whatsapp.net"`, `"from":null`},
		"at '/data/latencyMs': got string, want":                   {`"latencyMs":84`, `"latencyMs":"84"`},
		"at '/data/status': value must be one of":                  {`"status":"offer"`, `"status":"busy"`},
		"at '/data': additional properties 'more' not allowed":     {`"status":"offer"`, `"status":"offer","more":1`},
		"duplicate object member name \"id\" within \"/data\"":     {`"status":"offer"`, `"status":"offer","id":"2"`},
		"at '/data/date': 'yesterday' is not valid date-time":      {`"date":"2026-05-04T09:30:00.125Z"`, `"date":"yesterday"`},
		"at '/data/date': '2026-05-04T09:30:00Z' is not valid":     {`"date":"2026-05-04T09:30:00.125Z"`, `"date":"2026-05-04T09:30:00Z"`},
		"at '/instance/externalAttributes': got null, want object": {`{"tenant":"north"}`, `null`},
		"at '/instance/connectionStatus': value must be one of":    {`"connectionStatus":"online"`, `"connectionStatus":"up"`},
		"at '/event': value must be 'call.upsert'":                 {`"event":"call.upsert"`, `"event":"call.upsert2"`},
		"invalid character after top-level value":                  {"\n", "\n{}"},
		"unexpected EOF":                      {"}\n", ""},
		"at '': missing property 'timestamp'": {`,"timestamp":"2026-05-04T09:30:00.125Z"`, ``},
		"at '/data': got array, want object":  {`"data":{`, `"data":[],"x":{`},
	} {
		bad := strings.Replace(string(good), change[0], change[1], 1)
		err := check(CallUpsert, []byte(bad))
		if bad == string(good) || !errors.Is(err, witness.ErrInvalid) || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v", fault, err)
		}
	}
	if err := check("no.such", []byte(`{}`)); !errors.Is(err, witness.ErrInvalid) {
		t.Errorf("an unknown event: %v", err)
	}
}

func FuzzSchemaAcceptsReencodedBody(f *testing.F) {
	for _, d := range Catalogue() {
		body, err := ExampleBody(d.Kind, Examples(d.Kind)[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(d.Kind), body)
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		if check(Kind(kind), body) != nil {
			return
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("accepted, yet unreadable: %v", err)
		}
		again, err := Marshal(v)
		if err != nil || check(Kind(kind), again) != nil {
			t.Fatalf("%s, %v: %v", again, err, check(Kind(kind), again))
		}
	})
}
