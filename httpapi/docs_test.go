package httpapi

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// documented is the part of the OpenAPI document that the tests read.
type documented struct {
	OpenAPI    string
	Paths      map[string]map[string]operationOfDocument
	Webhooks   map[string]map[string]operationOfDocument
	Components struct {
		Schemas    map[string]json.RawMessage
		Parameters map[string]parameterOfDocument
	}
}

type operationOfDocument struct {
	OperationID string
	Summary     string
	Description string
	Deprecated  bool
	Tags        []string
	Security    []map[string][]string
	Parameters  []parameterOfDocument
	Responses   map[string]json.RawMessage
	RequestBody struct {
		Content map[string]struct{ Schema, Example json.RawMessage }
	}
}

type parameterOfDocument struct {
	Ref      string `json:"$ref"`
	Name, In string
	Required bool
	Schema   json.RawMessage
	Example  any
}

func theDocument(t *testing.T) documented {
	t.Helper()
	return documentBy(t, OpenAPI)
}

// documentBy returns a document with its parameters in place of references to them.
func documentBy(t *testing.T, make func(server, version string) ([]byte, error)) (doc documented) {
	t.Helper()
	raw, err := make("", "test")
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, methods := range doc.Paths {
		for _, o := range methods {
			for i, p := range o.Parameters {
				if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
					o.Parameters[i] = doc.Components.Parameters[name]
				}
			}
		}
	}
	return doc
}

func TestRoutesAndAliasesAreDocumented(t *testing.T) {
	current, older := theDocument(t), documentBy(t, OpenAPIAliases)
	if current.OpenAPI != "3.1.0" || older.OpenAPI != "3.1.0" {
		t.Errorf("versions %q and %q", current.OpenAPI, older.OpenAPI)
	}
	ids, rows := map[string]string{}, 0
	name := regexp.MustCompile(`^[a-z][A-Za-z]+$`)
	check := func(method, path string, auth Auth, deprecated bool) {
		rows++
		doc := current
		if deprecated {
			doc = older
		}
		o, ok := doc.Paths[path][strings.ToLower(method)]
		switch {
		case !ok:
			t.Errorf("%s %s is missing", method, path)
		case !name.MatchString(o.OperationID) || ids[o.OperationID] != "":
			t.Errorf("%s %s has the id %q, which is no name or that of %s", method, path, o.OperationID, ids[o.OperationID])
		case o.Summary == "" || o.Description == "" || len(o.Tags) != 1 || o.Deprecated != deprecated:
			t.Errorf("%s %s: %+v", method, path, o)
		case (len(o.Security) == 0) != (auth == AuthNone || auth == AuthLink) || o.Security == nil:
			t.Errorf("%s %s: security %v", method, path, o.Security)
		}
		ids[o.OperationID] = path
	}
	for _, r := range Routes() {
		check(r.Method, documentPath(r.Path), r.Auth, false)
		for _, a := range r.Aliases {
			check(r.Method, strings.Replace(documentPath(a), "logout/{instanceName}", logoutTwice(a), 1), r.Auth, true)
		}
	}
	described := 0
	for _, doc := range []documented{current, older} {
		for _, methods := range doc.Paths {
			described += len(methods)
		}
	}
	if described != rows {
		t.Errorf("%d operations for %d routes and aliases", described, rows)
	}
}

// logoutTwice is the end of the only path that names its instance twice, which a document cannot express.
func logoutTwice(path string) string {
	if strings.Count(path, "{i}") == 2 {
		return "logout/{again}"
	}
	return "logout/{instanceName}"
}

// TestNewRouteIsComplete lists what a route, or a field of a body, answer or event, lacks.
func TestNewRouteIsComplete(t *testing.T) {
	for _, row := range slices.Concat(routes(), unlisted()) {
		name := row.Method + " " + row.Path
		for what, missing := range map[string]bool{
			"no ID": row.ID == "", "no Summary": row.Summary == "", "no Example of its body": row.In != nil && row.Example == "",
		} {
			if missing {
				t.Errorf("%s has %s in its row of routes.go", name, what)
			}
		}
	}
	if pageOfRoutes() != routesPage {
		t.Error("routes.txt is not what the rows say: run make docs")
	}
	docs := openapi.Build(describe("", "", "test"))
	for _, problem := range docs.Problems {
		t.Error(problem)
	}
	for _, field := range docs.Undescribed {
		t.Errorf("%s has no description: give the field a doc tag, or a row in fields.go of its resource", field)
	}
	for _, key := range docs.Unused {
		t.Errorf("the row %q describes nothing, or a field with a doc tag", key)
	}
}

func TestEveryPropertyOfTheDocumentHasADescription(t *testing.T) {
	for _, doc := range []func() ([]byte, error){
		func() ([]byte, error) { return OpenAPI("", "test") },
		func() ([]byte, error) { return OpenAPIAliases("", "test") },
		func() ([]byte, error) {
			return json.Marshal(openapi.Build(describe("", "", "test")).AsyncAPI)
		},
	} {
		raw, err := doc()
		var all map[string]any
		if err == nil {
			err = json.Unmarshal(raw, &all)
		}
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		eachSchema(all["components"].(object)["schemas"], "", func(at string, s object) {
			found++
			if text, _ := s["description"].(string); len(text) < 5 || !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "…") {
				t.Errorf("%s: description %q", at, text)
			}
		})
		if found < 200 {
			t.Errorf("%d properties", found)
		}
	}
}

// TestNoTwoComponentsHaveOneName: a generated client has one type for each schema,
// response and parameter, so that two of one name do not compile.
func TestNoTwoComponentsHaveOneName(t *testing.T) {
	raw, err := OpenAPI("", "test")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	section := map[string]string{}
	for _, of := range []string{"schemas", "responses", "parameters", "requestBodies", "headers"} {
		for name := range doc.Components[of] {
			if other, taken := section[name]; taken {
				t.Errorf("%s is among the %s and among the %s", name, other, of)
			}
			section[name] = of
		}
	}
	if len(section) < 100 {
		t.Errorf("%d components", len(section))
	}
}

// eachSchema calls visit for every property under v.
func eachSchema(v any, at string, visit func(at string, s object)) {
	switch v := v.(type) {
	case object:
		for key, part := range v {
			eachSchema(part, at+"/"+key, visit)
		}
		if properties, ok := v["properties"].(object); ok {
			for name, s := range properties {
				visit(at+"."+name, s.(object))
			}
		}
	case []any:
		for _, part := range v {
			eachSchema(part, at, visit)
		}
	}
}

func TestEventsAreDocumentedWebhooksWithoutCredential(t *testing.T) {
	doc := theDocument(t)
	ids := map[string]bool{}
	for _, d := range event.Catalogue() {
		o := doc.Webhooks[string(d.Kind)]["post"]
		if !strings.HasPrefix(o.OperationID, "on") || ids[o.OperationID] || o.Security == nil || len(o.Security) > 0 {
			t.Errorf("%s: %+v", d.Kind, o)
		}
		ids[o.OperationID] = true
		if want := `{"$ref":"#/components/schemas/` + openapi.EventName(d.Kind) + `"}`; string(o.RequestBody.Content["application/json"].Schema) != want {
			t.Errorf("%s: body %s", d.Kind, o.RequestBody.Content["application/json"].Schema)
		}
	}
	if len(ids) != len(event.Catalogue()) || len(doc.Webhooks) != len(ids) {
		t.Errorf("%d ids of %d webhooks", len(ids), len(doc.Webhooks))
	}
}

func TestDocumentMatchesTheDecoder(t *testing.T) {
	doc := theDocument(t)
	for name, words := range map[string][]string{
		"CreateBatchRequest": {`"required":["instances","message","name","recipients"]`, `"autoStart":{`, `"maxLength":255`, `"additionalProperties":false`},
		"BatchMessage":       {`"discriminator":{"mapping":{"album":"#/components/schemas/AlbumBatchMessage"`, `"propertyName":"type"`, `"oneOf":[{"$ref":"#/components/schemas/TextBatchMessage"}`},
		"TextBatchMessage":   {`"enum":["text"]`, `"required":["payload","type"]`, `"$ref":"#/components/schemas/TextContent"`},
		"MessageRef":         {`"oneOf":[{`, `"type":"integer"`, `"type":"string"`},
		"TextContent":        {`"maxLength":65536`, `"minLength":1`},
	} {
		for _, want := range words {
			if !strings.Contains(string(doc.Components.Schemas[name]), want) {
				t.Errorf("no %s in %s: %s", want, name, doc.Components.Schemas[name])
			}
		}
	}
	for _, name := range []string{"Message", "Batch", "BatchItem", "BatchAttempt", "InstanceSnapshot", "Instance", "Upload", "Group", "Error"} {
		if doc.Components.Schemas[name] == nil {
			t.Errorf("no component %s", name)
		}
	}
}

func TestTheDocumentsNeedNoCredentialAndLoadNothing(t *testing.T) {
	r := newRig(t)
	for path, media := range map[string]string{
		"/docs": "text/html; charset=utf-8", "/openapi.json": "application/json", "/openapi-aliases.json": "application/json", "/asyncapi.json": "application/json",
	} {
		res := r.as("", "GET", path, "")
		raw, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != media {
			t.Errorf("%s: %s %s %v", path, res.Status, res.Header.Get("Content-Type"), err)
		}
		policy := res.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "http") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if path == "/docs" {
			checkPage(t, string(raw), policy)
		}
		packed := httptest.NewRequest("GET", path, nil)
		packed.Header.Set("Accept-Encoding", "br, gzip;q=0.8")
		checkPacked(t, do(r.h, packed).Body, raw)
	}
}

// checkPage searches the page for every route, and for resources that would be loaded or blocked.
func checkPage(t *testing.T, page, policy string) {
	t.Helper()
	for _, route := range Routes() {
		if !strings.Contains(page, "<code>"+documentPath(route.Path)+"</code>") {
			t.Errorf("the page does not show %s", route.Path)
		}
		for _, a := range route.Aliases {
			if !strings.Contains(page, route.Method+" "+documentPath(a)) && !strings.Contains(a, "logout") {
				t.Errorf("the page does not show %s", a)
			}
		}
	}
	for _, c := range Codes() {
		if !strings.Contains(page, `id="code-`+c.Code+`"`) {
			t.Errorf("the page does not show %s", c.Code)
		}
	}
	for _, tag := range []string{"style", "script"} {
		_, text, _ := strings.Cut(page, "<"+tag+">")
		text, _, _ = strings.Cut(text, "</"+tag+">")
		sum := sha256.Sum256([]byte(text))
		if len(text) < 100 || !strings.Contains(policy, tag+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("the policy refuses the %s of the page", tag)
		}
	}
	if loads := regexp.MustCompile(`<(script|img|iframe|object|embed)\s|<link rel="stylesheet"|@import|url\(`).FindString(page); loads != "" {
		t.Errorf("the page loads something: %s", loads)
	}
}

func checkPacked(t *testing.T, body io.Reader, want []byte) {
	t.Helper()
	zip, err := gzip.NewReader(body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(zip)
	if err != nil || string(got) != string(want) {
		t.Errorf("the compressed answer is another: %v", err)
	}
}

func TestWhoRefusesGzipDoesNotGetIt(t *testing.T) {
	for header, want := range map[string]bool{"": false, "gzip": true, "GZIP, br": true, "gzip;q=0": false, "gzip; q=0.0": false, "gzip;q=0.5": true, "identity": false} {
		if got := rest.TakesGzip(map[string][]string{"Accept-Encoding": {header}}); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
}
