// Package witness checks a program's answers against its OpenAPI document, in tests: a status or a code
// that the document does not list for the operation, and a body that does not match its schema, are
// errors. No program links it.
package witness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Witness is safe for concurrent use.
type Witness struct {
	operations []operation

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by their place
	seen     map[string]bool               // "id status" of answers
}

type operation struct {
	id, method string
	aliasOf    string   // the id of the operation of which this is an older path
	path       []string // segments; a parameter is in braces
	responses  map[string]response
	place      string // in its document, after the name of that
	requests   map[string]json.RawMessage
}

type response struct {
	Ref     string   `json:"$ref"`
	Codes   []string `json:"x-codes"`
	Content map[string]struct{ Schema json.RawMessage }
	place   string
}

// New reads documents that together describe one program.
func New(documents ...[]byte) (*Witness, error) {
	w := &Witness{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
	w.compiler.AssertFormat()
	for i, document := range documents {
		if err := w.add(fmt.Sprintf("document%d.json", i), document); err != nil {
			return nil, err
		}
	}
	// Literal segments come before parameters, because a path may match both.
	slices.SortFunc(w.operations, func(a, b operation) int {
		return strings.Compare(strings.Join(b.path, "/"), strings.Join(a.path, "/")) // "{" is behind all letters
	})
	slices.Reverse(w.operations)
	return w, nil
}

// add reads a document and registers it by a name.
func (w *Witness) add(root string, document []byte) error {
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			AliasOf     string `json:"x-alias-of"`
			Responses   map[string]response
			RequestBody struct {
				Content map[string]json.RawMessage
			}
		}
		Components struct{ Responses map[string]response }
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return err
	}
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return err
	}
	if err := w.compiler.AddResource(root, raw); err != nil {
		return err
	}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			place := root + "#/paths/" + escape(path) + "/" + method
			for status, r := range o.Responses {
				r.place = place + "/responses/" + status
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					r = doc.Components.Responses[name]
					r.place = root + "#/components/responses/" + escape(name)
				}
				o.Responses[status] = r
			}
			w.operations = append(w.operations, operation{
				o.OperationID, strings.ToUpper(method), o.AliasOf, strings.Split(path, "/"), o.Responses, place, o.RequestBody.Content,
			})
		}
	}
	return nil
}

func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
}

// Operation returns the id of the operation of a request, empty if the document has none.
func (w *Witness) Operation(method, path string) string {
	if o := w.find(method, path); o != nil {
		return o.id
	}
	return ""
}

func (w *Witness) find(method, path string) *operation {
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for i, o := range w.operations {
			if o.method == method && fits(o.path, segments, same) {
				return &w.operations[i]
			}
		}
	}
	return nil
}

func fits(pattern, path []string, same func(a, b string) bool) bool {
	if len(pattern) != len(path) {
		return false
	}
	for i, p := range pattern {
		if strings.HasPrefix(p, "{") && path[i] != "" {
			continue
		}
		if !same(p, path[i]) {
			return false
		}
	}
	return true
}

// Answer returns the deviations of an answer from the document. A path that the document does not have
// may be answered in any way.
func (w *Witness) Answer(method, path string, status int, header http.Header, body []byte) error {
	o := w.find(method, path)
	if o == nil {
		return nil
	}
	code := codeOf(body)
	if code == "NOT_FOUND" && status == http.StatusNotFound {
		return nil // a route that the configuration has switched off
	}
	r, ok := o.responses[strconv.Itoa(status)]
	if !ok {
		return fmt.Errorf("%s answers %d %s, which is not described", o.id, status, code)
	}
	w.mu.Lock()
	for _, id := range []string{o.id, o.aliasOf} {
		w.seen[id+" "+strconv.Itoa(status)] = true
	}
	w.mu.Unlock()
	return w.content(o.id, r, status, code, header, body)
}

func codeOf(body []byte) string {
	var refusal struct{ Code string }
	_ = json.Unmarshal(body, &refusal)
	return refusal.Code
}

func (w *Witness) content(id string, r response, status int, code string, header http.Header, body []byte) error {
	if len(body) == 0 {
		if len(r.Content) > 0 && status != http.StatusSwitchingProtocols {
			return fmt.Errorf("%s answers %d without the body that is described", id, status)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("%s answers %d with the Content-Type %q", id, status, header.Get("Content-Type"))
	}
	content, ok := r.Content[media]
	if !ok {
		if _, any := r.Content["*/*"]; any {
			return nil
		}
		return fmt.Errorf("%s answers %d with %s, which is not described", id, status, media)
	}
	if status >= 400 && code != "" {
		if !slices.Contains(r.Codes, code) {
			return fmt.Errorf("%s answers %d %s, a code that is not described", id, status, code)
		}
	}
	if media != "application/json" || len(content.Schema) == 0 || header.Get("Content-Encoding") != "" {
		return nil
	}
	return w.check(fmt.Sprintf("%s %d", id, status), r.place+"/content/"+escape(media)+"/schema", body)
}

// Request returns the violations of its schema in the JSON body of a request.
func (w *Witness) Request(method, path string, body []byte) error {
	o := w.find(method, path)
	if o == nil {
		return fmt.Errorf("%s %s is not described", method, path)
	}
	if _, ok := o.requests["application/json"]; !ok {
		return fmt.Errorf("%s takes no JSON", o.id)
	}
	return w.check(o.id, o.place+"/requestBody/content/application~1json/schema", body)
}

func (w *Witness) check(what, place string, body []byte) error {
	schema, err := w.schema(place)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%s: %w\n%.2000s", what, err, body)
	}
	return nil
}

func (w *Witness) schema(place string) (*jsonschema.Schema, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.schemas[place]; ok {
		return s, nil
	}
	s, err := w.compiler.Compile(place)
	if err == nil {
		w.schemas[place] = s
	}
	return s, err
}

// Unseen returns the ids of the operations of which no success was checked. An answer on an older path
// counts for its operation.
func (w *Witness) Unseen() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.operations {
		success := func(status string) bool { return status < "4" && w.seen[o.id+" "+status] }
		if o.aliasOf == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(o.responses)), success) {
			ids = append(ids, o.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Handler passes requests to h and reports answers that the document does not describe. It checks only
// answers written to an [httptest.ResponseRecorder]: with a real connection some are hijacked or broken
// off; for these see [Witness.Transport].
func (w *Witness) Handler(h http.Handler, complain func(error)) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		path := r.URL.Path // before anybody rewrites it
		h.ServeHTTP(rw, r)
		if rec, ok := rw.(*httptest.ResponseRecorder); ok {
			if err := w.Answer(r.Method, path, rec.Code, rec.Header(), rec.Body.Bytes()); err != nil {
				complain(err)
			}
		}
	})
}

// Transport returns next with checks of its answers.
func (w *Witness) Transport(next http.RoundTripper, complain func(error)) http.RoundTripper {
	return transport{w, next, complain}
}

type transport struct {
	*Witness

	next     http.RoundTripper
	complain func(error)
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return res, err
	}
	if res.StatusCode == http.StatusSwitchingProtocols { // its body is the connection
		if err := t.Answer(r.Method, r.URL.Path, res.StatusCode, res.Header, nil); err != nil {
			t.complain(err)
		}
		return res, nil
	}
	body, readErr := io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{readErr}))
	if readErr == nil {
		if err := t.Answer(r.Method, r.URL.Path, res.StatusCode, res.Header, body); err != nil {
			t.complain(err)
		}
	}
	return res, nil
}

// failing is the end of a body, with the error if it broke off.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
