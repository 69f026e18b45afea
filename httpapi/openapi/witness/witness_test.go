package witness

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const small = `{"openapi":"3.1.0","paths":{
 "/things/list":{"get":{"operationId":"listThings","responses":{"200":{"content":{"application/json":{"schema":{"type":"array","items":{"$ref":"#/components/schemas/Thing"}}}}}}}},
 "/things/{name}":{
  "get":{"operationId":"getThing","responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}},"404":{"$ref":"#/components/responses/Missing"}}},
  "put":{"operationId":"putThing","requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}},"responses":{"204":{"description":"done"}}}},
 "/older/{name}":{"get":{"operationId":"olderThing","x-alias-of":"getThing","responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}}}}}
},"components":{
 "schemas":{"Thing":{"type":"object","properties":{"id":{"type":"string","format":"uuid"},"at":{"type":["string","null"],"format":"date-time"}},"required":["id"],"additionalProperties":false}},
 "responses":{"Missing":{"content":{"application/json":{"schema":{"type":"object"}}},"x-codes":["NO_THING"]}}}}`

const thing = `{"id":"6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10","at":null}`

func TestWitnessReportsUndocumentedAnswers(t *testing.T) {
	w, err := New([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	const media = "application/json; charset=utf-8"
	for name, c := range map[string]struct {
		method, path, media, body string
		status                    int
		fits                      bool
	}{
		"an answer as described":             {"GET", "/things/a", media, thing, 200, true},
		"a slash at the end":                 {"GET", "/things/a/", media, thing, 200, true},
		"words before parameters":            {"GET", "/things/list", media, "[" + thing + "]", 200, true},
		"another shape":                      {"GET", "/things/list", media, thing, 200, false},
		"a status that is not described":     {"GET", "/things/a", media, thing, 201, false},
		"a field that is not described":      {"GET", "/things/a", media, thing[:len(thing)-1] + `,"x":1}`, 200, false},
		"a field that is missing":            {"GET", "/things/a", media, `{}`, 200, false},
		"an id that is no UUID":              {"GET", "/things/a", media, `{"id":"x"}`, 200, false},
		"a time that is none":                {"GET", "/things/a", media, strings.Replace(thing, "null", `"now"`, 1), 200, false},
		"no JSON":                            {"GET", "/things/a", media, `{`, 200, false},
		"another media type":                 {"GET", "/things/a", "text/plain", thing, 200, false},
		"no media type":                      {"GET", "/things/a", "", thing, 200, false},
		"no body":                            {"GET", "/things/a", media, "", 200, false},
		"no body where there is none":        {"PUT", "/things/a", "", "", 204, true},
		"a body where there is none":         {"PUT", "/things/a", media, thing, 204, false},
		"a code that is described":           {"GET", "/things/a", media, `{"code":"NO_THING"}`, 404, true},
		"a code that is not":                 {"GET", "/things/a", media, `{"code":"OTHER"}`, 404, false},
		"a route that is switched off":       {"PUT", "/things/a", media, `{"code":"NOT_FOUND"}`, 404, true},
		"a path that the document has not":   {"GET", "/other", media, `{}`, 500, true},
		"a method that the document has not": {"POST", "/things/a", media, `{}`, 500, true},
	} {
		err := w.Answer(c.method, c.path, c.status, http.Header{"Content-Type": {c.media}}, []byte(c.body))
		if (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
	for body, fits := range map[string]bool{thing: true, `{"id":1}`: false, `[`: false} {
		if err := w.Request("PUT", "/things/a", []byte(body)); (err == nil) != fits {
			t.Errorf("the request %s: %v", body, err)
		}
	}
	if w.Request("GET", "/things/a", nil) == nil || w.Request("GET", "/nowhere", nil) == nil {
		t.Error("a body is fine where none is taken")
	}
}

func TestWitnessReportsRoutesWithoutSuccess(t *testing.T) {
	w, err := New([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	_ = w.Answer("GET", "/things/a", 404, header, []byte(`{"code":"NO_THING"}`))
	if got := w.Unseen(); !slices.Equal(got, []string{"getThing", "listThings", "putThing"}) {
		t.Errorf("unseen %v", got)
	}
	_ = w.Answer("GET", "/older/a", 200, header, []byte(thing))
	_ = w.Answer("PUT", "/things/a", 204, nil, nil)
	if got := w.Unseen(); !slices.Equal(got, []string{"listThings"}) {
		t.Errorf("unseen %v", got)
	}
}

func TestTheWitnessListensToHandlersAndConnections(t *testing.T) {
	w, err := New([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	h := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		r.URL.Path = "/" // a handler may rewrite it
		_, _ = fmt.Fprint(rw, `{"id":1}`)
	})
	heard := 0
	complain := func(error) { heard++ }
	w.Handler(h, complain).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/things/a", nil))
	if heard != 1 {
		t.Errorf("%d complaints about a handler", heard)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	client := http.Client{Transport: w.Transport(http.DefaultTransport, complain)}
	res, err := client.Get(server.URL + "/things/a")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != `{"id":1}` || heard != 2 {
		t.Errorf("%s, %v, %d complaints", body, err, heard)
	}
}
