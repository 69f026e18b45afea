package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// maxDocument is the maximum length of the OpenAPI document, in bytes. Generators make some hundred lines of each kilobyte.
const maxDocument = 800_000

func TestOpenAPIDocumentIsShort(t *testing.T) {
	raw, err := OpenAPI("https://wa.example.org", "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(raw))
	if len(raw) > maxDocument {
		t.Errorf("the document has %d bytes, and may have %d", len(raw), maxDocument)
	}
	for _, want := range []string{`"externalDocs":{`, `"url":"https://wa.example.org/openapi-aliases.json"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the document has no %s", want)
		}
	}
}

// TestNoSchemaIsABareObject: from an object without a statement about its fields, generators make a type without fields.
func TestNoSchemaIsABareObject(t *testing.T) {
	for name, document := range map[string]func(server, version string) ([]byte, error){"current": OpenAPI, "aliases": OpenAPIAliases} {
		raw, err := document("", "test")
		var doc any
		if err == nil {
			err = json.Unmarshal(raw, &doc)
		}
		if err != nil {
			t.Fatal(err)
		}
		schemas := 0
		eachPart(doc, name, func(at string, o object) {
			if o["type"] == nil {
				return
			}
			schemas++
			kinds, _ := o["type"].([]any)
			if o["type"] != "object" && !slices.Contains(kinds, any("object")) {
				return
			}
			more, _ := o["additionalProperties"].(object)
			if o["properties"] == nil && (o["additionalProperties"] == nil || more != nil && len(more) == 0) {
				t.Errorf("%s is a bare object", at)
			}
		})
		if schemas < 500 {
			t.Errorf("%s: %d schemas", name, schemas)
		}
	}
}

// eachPart visits every object of a document, except those in examples.
func eachPart(v any, at string, visit func(at string, o object)) {
	switch v := v.(type) {
	case object:
		visit(at, v)
		for key, part := range v {
			if key != "example" && key != "examples" {
				eachPart(part, at+"/"+key, visit)
			}
		}
	case []any:
		for i, part := range v {
			eachPart(part, fmt.Sprint(at, "/", i), visit)
		}
	}
}

func TestFreeFormObjectsTakeAnyField(t *testing.T) {
	doc := theDocument(t)
	for _, field := range []string{
		"Message.content", "Message.externalAttributes", "SendOptions.externalAttributes", "QuotedMessage.content", "QuotedMessage.message",
		"MediaDataRequest.content", "Upload.externalAttributes", "CreateInstanceRequest.externalAttributes", "CreateBatchRequest.externalAttributes",
	} {
		name, property, _ := strings.Cut(field, ".")
		var schema struct {
			Properties map[string]struct{ AdditionalProperties any }
		}
		if err := json.Unmarshal(doc.Components.Schemas[name], &schema); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if schema.Properties[property].AdditionalProperties != true {
			t.Errorf("%s does not take any field", field)
		}
	}
}

// TestSendResultsAreDistinguishable by status: a message has none, and the answer to a send that is performed later has a
// constant.
func TestSendResultsAreDistinguishable(t *testing.T) {
	doc := theDocument(t)
	for path, methods := range doc.Paths {
		o := methods["post"]
		if !strings.Contains(string(o.Responses["202"]), "AcceptedSend") {
			continue
		}
		if !strings.Contains(string(o.Responses["200"]), `"#/components/schemas/SentMessage"`) {
			t.Errorf("%s: %s", path, o.Responses["200"])
		}
	}
	if s := string(doc.Components.Schemas["SentMessage"]); !strings.Contains(s, `"status":{`) || !strings.Contains(s, `"enum":["sent"]`) || !strings.Contains(s, `#/components/schemas/Message"`) {
		t.Errorf("SentMessage is %s", s)
	}
	if s := string(doc.Components.Schemas["AcceptedSend"]); !strings.Contains(s, `"enum":["processing"]`) || !strings.Contains(s, `"enum":[202]`) {
		t.Errorf("AcceptedSend is %s", s)
	}
}
