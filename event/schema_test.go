package event

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"postern/event/witness"
)

// edited is body after change has worked on its data: on the first item where
// data is an array, and inside batch and partial where there are such.
func edited(t *testing.T, body []byte, change func(data object)) []byte {
	t.Helper()
	var envelope object
	if err := json.Unmarshal(body, &envelope); err != nil {
		t.Fatal(err)
	}
	data := envelope["data"]
	if list, ok := data.([]any); ok {
		data = list[0]
	}
	for _, inner := range []string{"batch", "partial"} {
		if o, ok := data.(object)[inner]; ok {
			data = o
		}
	}
	change(data.(object))
	b, err := json.Marshal(envelope)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func refused(t *testing.T, kind Kind, body []byte, why string) {
	t.Helper()
	if err := check(kind, body); !errors.Is(err, witness.ErrInvalid) {
		t.Errorf("%s was accepted: %v\n%s", why, err, body)
	}
}

func TestSchemasEnforceRequiredNullAndUnknownKeys(t *testing.T) {
	eachExample(t, func(t *testing.T, kind Kind, e Example, body []byte) {
		if e.Name != "full" {
			return
		}
		schema, value := dataOf(t, kind, body)
		for name, p := range propertiesOf(schema) {
			if slices.Contains(schema["required"].([]string), name) {
				refused(t, kind, edited(t, body, func(data object) { delete(data, name) }), "no "+name)
			}
			null := edited(t, body, func(data object) { data[name] = nil })
			if _, nullable := p.(object)["type"].([]any); !nullable {
				refused(t, kind, null, name+" null")
			} else if err := check(kind, null); err != nil {
				t.Errorf("%s may be null: %v", name, err)
			}
		}
		more := edited(t, body, func(data object) { data["somethingElse"] = true })
		if schema["additionalProperties"] == false {
			refused(t, kind, more, "an unknown key")
		} else if err := check(kind, more); err != nil {
			t.Error(err)
		}
		for name := range value {
			if _, declared := propertiesOf(schema)[name]; !declared {
				continue
			}
			refused(t, kind, edited(t, body, func(data object) { data[name] = []any{1.5} }), "another type of "+name)
		}
	})
}

func TestBatchEventsHaveTheirOwnStatusAndTimes(t *testing.T) {
	times := map[string]string{
		"startedAt": "started resumed progress", "pausedAt": "paused", "stoppedAt": "stopped", "interruptedAt": "interrupted",
		"completedAt": "completed completed-with-errors", "currentItem": "progress",
	}
	for _, d := range Catalogue() {
		kind, status := d.Kind, d.payload.status
		if status == "" {
			continue
		}
		body, err := ExampleBody(kind, Examples(kind)[1])
		if err != nil {
			t.Fatal(err)
		}
		_, value := dataOf(t, kind, body)
		short := strings.TrimPrefix(string(kind), "message.batch.")
		for name, in := range times {
			if _, has := value[name]; has != slices.Contains(strings.Fields(in), short) {
				t.Errorf("%s: %s is there: %t", kind, name, has)
			}
			if _, has := value[name]; !has {
				refused(t, kind, edited(t, body, func(data object) { data[name] = exampleTime }), name)
			}
		}
		for _, other := range status.values() {
			if other != string(status) {
				refused(t, kind, edited(t, body, func(data object) { data["status"] = other }), other)
			}
		}
		for _, rest := range []string{"received", "duplicatesIgnored"} {
			refused(t, kind, edited(t, body, func(data object) { data["counts"].(object)[rest] = 1 }), rest)
		}
	}
}

func TestOnlySendMessageHasInstanceIdAndAttributes(t *testing.T) {
	body, err := ExampleBody(MessagesUpsert, Examples(MessagesUpsert)[0])
	if err != nil {
		t.Fatal(err)
	}
	refused(t, MessagesUpsert, edited(t, body, func(data object) { data["instanceId"] = 1 }), "instanceId")
	refused(t, MessagesUpsert, edited(t, body, func(data object) { data["externalAttributes"] = object{} }), "externalAttributes")
}

func TestQRCodeEnvelopeHasStateQRCode(t *testing.T) {
	body, err := ExampleBody(QRCodeUpdated, Examples(QRCodeUpdated)[0])
	if err != nil {
		t.Fatal(err)
	}
	refused(t, QRCodeUpdated, []byte(strings.Replace(string(body), `"qr_code"`, `"online"`, 1)), "another state")
}

func TestSchemaIsACopyAndNamesItsDialect(t *testing.T) {
	for _, d := range Catalogue() {
		s := Schema(d.Kind)
		if s["$schema"] != "https://json-schema.org/draft/2020-12/schema" || s["title"] != string(d.Kind) {
			t.Errorf("%s: %v", d.Kind, slices.Sorted(maps.Keys(s)))
		}
		before, err := SchemaJSON(d.Kind)
		if err != nil {
			t.Fatal(err)
		}
		clear(propertiesOf(s))
		if after, err := SchemaJSON(d.Kind); err != nil || string(after) != string(before) {
			t.Errorf("%s changed with the copy of a caller: %v", d.Kind, err)
		}
	}
}
