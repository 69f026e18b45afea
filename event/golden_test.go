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

func TestEveryExampleIsItsGoldenFileByteForByte(t *testing.T) {
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

func TestEveryExampleFitsItsSchema(t *testing.T) {
	eachExample(t, func(t *testing.T, kind Kind, _ Example, body []byte) {
		if err := Validate(kind, body); err != nil {
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

func TestTheFullExampleHasEveryFieldAndTheLeastOnlyTheRequired(t *testing.T) {
	eachExample(t, func(t *testing.T, kind Kind, e Example, body []byte) {
		schema, value := dataOf(t, kind, body)
		got, want := slices.Sorted(maps.Keys(value)), schema["required"].([]string)
		switch e.Name {
		case "full":
			want = slices.Sorted(maps.Keys(propertiesOf(schema)))
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

func TestThereIsAnExampleOfEveryEventAndNoneOfOthers(t *testing.T) {
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

func TestValidateNamesThePlaceOfAFault(t *testing.T) {
	good, err := os.ReadFile("testdata/call.upsert.full.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(CallUpsert, good); err != nil {
		t.Fatal(err)
	}
	for place, change := range map[string][2]string{
		"data.chatId is missing":          {`"chatId":"120363000000000001@g.us",`, ``},
		"data.from is <nil>":              {`"from":"4915155500002@s.whatsapp.net"`, `"from":null`},
		"data.latencyMs":                  {`"latencyMs":84`, `"latencyMs":"84"`},
		"data.status is busy":             {`"status":"offer"`, `"status":"busy"`},
		"data.more is not in the schema":  {`"status":"offer"`, `"status":"offer","more":1`},
		"data.id is there twice":          {`"status":"offer"`, `"status":"offer","id":"2"`},
		"data.date":                       {`"date":"2026-05-04T09:30:00.125Z"`, `"date":"yesterday"`},
		"instance.externalAttributes":     {`{"tenant":"north"}`, `null`},
		"instance.connectionStatus":       {`"connectionStatus":"online"`, `"connectionStatus":"up"`},
		"event is call.upsert":            {`"event":"call.upsert"`, `"event":"call.upsert2"`},
		"something follows":               {"\n", "\n{}"},
		"unexpected EOF":                  {"}\n", ""},
		"timestamp is missing":            {`,"timestamp":"2026-05-04T09:30:00.125Z"`, ``},
		"data is [] ([]interface {}), no": {`"data":{`, `"data":[],"x":{`},
	} {
		bad := strings.Replace(string(good), change[0], change[1], 1)
		err := Validate(CallUpsert, []byte(bad))
		if bad == string(good) || !errors.Is(err, ErrInvalid) || place != "event is call.upsert" && !strings.Contains(err.Error(), place) {
			t.Errorf("%s: %v", place, err)
		}
	}
	if err := Validate("no.such", []byte(`{}`)); !errors.Is(err, ErrInvalid) {
		t.Errorf("an unknown event: %v", err)
	}
}

func FuzzValidateNeverPanicsAndAcceptsWhatItAcceptedOnceMore(f *testing.F) {
	for _, d := range Catalogue() {
		body, err := ExampleBody(d.Kind, Examples(d.Kind)[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(d.Kind), body)
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		if Validate(Kind(kind), body) != nil {
			return
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("accepted, yet unreadable: %v", err)
		}
		again, err := Marshal(v)
		if err != nil || Validate(Kind(kind), again) != nil {
			t.Fatalf("%s, %v: %v", again, err, Validate(Kind(kind), again))
		}
	})
}
