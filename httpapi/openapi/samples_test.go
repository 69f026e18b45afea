package openapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"postern/event"
)

// asked is a request as the program receives it.
type asked struct{ method, path, key, token, kind, body string }

// sampled are operations whose examples are hard to write: with quotes of all kinds, without a body, with a query,
// and with a file.
func sampled() []Operation {
	type body struct {
		Text string `json:"text" strict:"required"`
	}
	return []Operation{
		{
			Method: "POST", Path: "/things/{name}", ID: "createThing", Tag: "Things", Summary: "Make one.", Credentials: []Credential{{Name: "GlobalApiKey"}},
			In: reflect.TypeFor[body](), Example: "{\"text\":\"it's `so` \\\"quoted\\\" & <b>é</b> $HOME \\\\n\"}",
		},
		{Method: "GET", Path: "/things", ID: "listThings", Tag: "Things", Summary: "List them.", Credentials: []Credential{{Name: "UserBearer"}}, Query: []string{"kind"}},
		{Method: "DELETE", Path: "/things/{name}", ID: "deleteThing", Tag: "Things", Summary: "Delete one."},
		{Method: "POST", Path: "/files", ID: "createFile", Tag: "Things", Summary: "Bring one.", Credentials: []Credential{{Name: "UserBearer"}}, Form: []string{}, File: "attachment"},
	}
}

func sampledPage(t *testing.T) []*pageOperation {
	t.Helper()
	operations := sampled()
	for i := range operations {
		operations[i].Answers = []Answer{{Status: 200}}
	}
	docs := Build(API{
		Title: "Things", Tags: []Tag{{"Things", "All of them."}}, Operations: operations, Refusal: reflect.TypeFor[struct{}](),
		Types: map[reflect.Type]Type{reflect.TypeFor[struct{}](): {Name: "Nothing"}},
		Fields: Fields{
			"text": Say("A text.", "x"), "{name}": Say("A name.", "a b"), "?kind": Say("A kind.", "x&y", Required()),
		},
	})
	view, err := viewOf(docs)
	if err != nil {
		t.Fatal(err)
	}
	return view.Groups[0].Operations
}

// TestPageExamplesMatchTheirText runs the examples of every language that is installed here against a server.
func TestPageExamplesMatchTheirText(t *testing.T) {
	want := map[string]asked{
		"createThing": {"POST", "/things/a%20b", "YOUR_KEY", "", "application/json", "{\"text\":\"it's `so` \\\"quoted\\\" & <b>é</b> $HOME \\\\n\"}"},
		"listThings":  {"GET", "/things?kind=x%26y", "", "Bearer YOUR_TOKEN", "", ""},
		"deleteThing": {"DELETE", "/things/a%20b", "", "", "", ""},
		"createFile":  {"POST", "/files", "", "Bearer YOUR_TOKEN", "multipart/form-data", "bytes of a file"},
	}
	var got asked
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = read(r) }))
	defer server.Close()
	run := 0
	for _, o := range sampledPage(t) {
		for _, s := range o.Samples {
			t.Run(o.ID+" "+s.Language, func(t *testing.T) {
				got = asked{}
				execute(t, s, strings.ReplaceAll(s.Code, sampleBase, server.URL))
				if got != want[o.ID] {
					t.Errorf("got %+v\nwant %+v\n%s", got, want[o.ID], s.Code)
				}
				run++
			})
		}
	}
	if run < len(want) {
		t.Errorf("only %d were run", run)
	}
}

func read(r *http.Request) asked {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	a := asked{method: r.Method, path: r.URL.RequestURI(), key: r.Header.Get("apikey"), token: r.Header.Get("Authorization"), kind: kind}
	if file, _, err := r.FormFile("attachment"); err == nil {
		raw, _ := io.ReadAll(file)
		a.body = string(raw)
		return a
	}
	raw, _ := io.ReadAll(r.Body)
	a.body = string(raw)
	var value any
	if json.Unmarshal(raw, &value) == nil { // languages write the same JSON in other ways
		if same, err := event.Marshal(value); err == nil {
			a.body = string(same)
		}
	}
	return a
}

func execute(t *testing.T, s sample, code string) {
	t.Helper()
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("file.jpg", "bytes of a file")
	var command []string
	switch s.Language {
	case "curl":
		command = []string{"bash", write("ask.sh", code)}
	case "javascript":
		if strings.Contains(code, "file);") { // a page's <input> has it
			code = "const file = new File([\"bytes of a file\"], \"file.jpg\");\n" + code
		}
		command = []string{"node", write("ask.mjs", code)}
	case "python":
		if exec.CommandContext(t.Context(), "python3", "-c", "import requests").Run() != nil {
			t.Skip("needs Python with requests")
		}
		command = []string{"python3", write("ask.py", code)}
	case "go":
		command = []string{"go", "run", write("ask.go", code)}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = folder
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, output, code)
	}
}
