package httpapi

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"postern/event"
)

func TestEveryRouteIsInTheOpenAPIDocument(t *testing.T) {
	r := newRig(t)
	doc := decoded[struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Summary     string
			Security    []map[string][]string
			Responses   map[string]json.RawMessage
		}
		Webhooks map[string]json.RawMessage
	}](t, r.as("", "GET", "/openapi.json", ""))
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("version %q", doc.OpenAPI)
	}
	ids := map[string]bool{}
	for _, route := range Routes() {
		op, ok := doc.Paths[route.Path][strings.ToLower(route.Method)]
		if !ok || op.Summary == "" || len(op.Responses) != 2 || ids[op.OperationID] {
			t.Errorf("%s %s is not described: %+v", route.Method, route.Path, op)
		}
		ids[op.OperationID] = true
		if (len(op.Security) == 0) != (route.Auth == AuthNone) {
			t.Errorf("%s %s: security %v", route.Method, route.Path, op.Security)
		}
	}
	if rows := len(descriptions()); rows != len(Routes()) {
		t.Errorf("%d descriptions for %d routes", rows, len(Routes()))
	}
	for _, d := range event.Catalogue() {
		if len(doc.Webhooks[string(d.Kind)]) == 0 {
			t.Errorf("%s is not described", d.Kind)
		}
	}
}

func TestTheOpenAPIDocumentTellsWhatTheDecoderReads(t *testing.T) {
	schema := requestSchema(body[batchRequest]())
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"required":["instances","message","name","recipients"]`, `"schedule":{"type":"object"}`,
		`"recipients":{"items":{"type":"string"},"type":"array"}`, `"autoStart":{"type":"boolean"}`,
		`"required":["payload","type"]`, `"additionalProperties":false`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
}

func TestTheDocumentsNeedNoCredentialAndLoadNothing(t *testing.T) {
	r := newRig(t)
	for path, media := range map[string]string{"/docs": "text/html; charset=utf-8", "/openapi.json": "application/json"} {
		res := r.as("", "GET", path, "")
		raw, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != media {
			t.Errorf("%s: %s %s %v", path, res.Status, res.Header.Get("Content-Type"), err)
		}
		if strings.Contains(string(raw), "<script") || strings.Contains(string(raw), " src=") {
			t.Errorf("%s loads something", path)
		}
		if path == "/docs" {
			for _, route := range Routes() {
				if !strings.Contains(string(raw), "</span>"+route.Path+"<span") {
					t.Errorf("the page does not show %s", route.Path)
				}
			}
		}
	}
}
