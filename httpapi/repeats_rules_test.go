package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"postern/httpapi/rest"
)

// document is the part of the OpenAPI document that describes what a route takes.
type document struct {
	Paths      map[string]map[string]described
	Components struct{ Schemas map[string]schema }
}

type described struct {
	Parameters  []struct{ In, Name string }
	RequestBody struct {
		Content map[string]struct {
			Schema  schema
			Example any
		}
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Properties map[string]schema
	Items      *schema
	AllOf      []schema
	OneOf      []schema
	AnyOf      []schema
}

// leaves returns the positions of all strings in a body.
func (d *document) leaves(s schema, at []any, depth int, add func([]any)) {
	if depth > 6 {
		return
	}
	if s.Ref != "" {
		d.leaves(d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]], at, depth+1, add)
		return
	}
	for _, part := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
		d.leaves(part, at, depth+1, add)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		d.leaves(s.Properties[name], append(slices.Clone(at), name), depth+1, add)
	}
	if s.Items != nil {
		d.leaves(*s.Items, append(slices.Clone(at), 0), depth+1, add)
	}
	if len(at) > 0 && s.Properties == nil && s.Items == nil {
		add(at)
	}
}

// with returns a copy of a JSON value with another value at a position.
func with(body any, at []any, value any) any {
	if len(at) == 0 {
		return value
	}
	if name, ok := at[0].(string); ok {
		object, _ := body.(map[string]any)
		copied := maps.Clone(object)
		if copied == nil {
			copied = map[string]any{}
		}
		copied[name] = with(copied[name], at[1:], value)
		return copied
	}
	list, _ := body.([]any)
	copied := slices.Clone(list)
	if len(copied) == 0 {
		copied = []any{nil}
	}
	copied[0] = with(copied[0], at[1:], value)
	return copied
}

// TestErrorsRepeatAtMost100CharactersOfInput covers every string of every route, its
// parameters, and unknown names.
func TestErrorsRepeatAtMost100CharactersOfInput(t *testing.T) {
	r, token, _ := doing(t)
	var d document
	if err := json.NewDecoder(r.admin("GET", "/openapi.json", "").Body).Decode(&d); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ж", 700)
	values := []string{long, strings.Repeat("7", 3000) + "@g.us", strings.Repeat("7", 3000) + "@" + long, "http://[" + long, "http://" + long + "/%zz", "\x00" + long}
	asked, refused, codes := 0, 0, map[int]int{}
	ask := func(method, path, query, body string) {
		t.Helper()
		asked++
		req := httptest.NewRequest(strings.ToUpper(method), "/x", strings.NewReader(body))
		req.URL.Path, req.URL.RawPath, req.URL.RawQuery, req.RequestURI = path, "", query, ""
		req.Header.Set("apikey", testKey)
		bearer := r.token
		if strings.Contains(path, "/a/") || strings.HasSuffix(path, "/a") {
			bearer = token
		}
		req.Header.Set("Authorization", "Bearer "+bearer)
		if strings.HasPrefix(path, "/ws/") {
			for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
				req.Header.Set(name, value)
			}
		}
		res := do(r.api, req)
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode < 400 {
			return
		}
		refused++
		codes[res.StatusCode]++
		text := string(raw)
		var e rest.ErrorBody
		if json.Unmarshal(raw, &e) == nil {
			text = strings.Join(e.Messages, "\n")
		}
		if n := strings.Count(text, "ж") + max(0, strings.Count(text, "7")-20); n > 100 {
			t.Errorf("%s %.60s?%.40s %.200s: %d characters of it in %.300s", method, path, query, body, n, text)
		}
	}
	for path, methods := range d.Paths {
		for method, op := range methods {
			if strings.HasSuffix(path, "oken") && method == "put" || method == "delete" && strings.HasPrefix(path, "/instance/{") && strings.Count(path, "/") <= 3 {
				continue // it would end the token or the instance
			}
			here := strings.NewReplacer("{instanceName}", "a", "{i}", "a").Replace(path)
			if i := strings.IndexByte(here, '{'); i >= 0 {
				end := i + strings.IndexByte(here[i:], '}') + 1
				for _, v := range values[:2] {
					ask(method, here[:i]+v+here[end:], "", "")
				}
				here = here[:i] + "1" + here[end:]
			}
			ask(method, here, url.Values{long: {"1"}}.Encode(), "")
			ask(method, here, url.Values{long: {"1", "2"}}.Encode(), "")
			for _, p := range op.Parameters {
				for _, v := range values {
					if p.In == "query" {
						ask(method, here, url.Values{p.Name: {v}}.Encode(), "")
					}
				}
			}
			body, takes := op.RequestBody.Content["application/json"]
			if !takes {
				continue
			}
			example, _ := json.Marshal(body.Example)
			ask(method, here, "", `{"`+long+`":1}`)
			ask(method, here, "", fmt.Sprintf(`{"%s":{"%s":1},"%s":2}`, long, long, long))
			ask(method, here, "", `{"a":"`+long)
			ask(method, here, "", string(example)+long)
			d.leaves(body.Schema, nil, 0, func(at []any) {
				for _, v := range values {
					for _, value := range []any{v, []any{v, v, v}, map[string]any{v: v}} {
						raw, err := json.Marshal(with(body.Example, at, value))
						if err != nil {
							t.Fatal(err)
						}
						ask(method, here, "", string(raw))
					}
				}
			})
		}
	}
	if refused < 1000 {
		t.Errorf("%d of %d requests were refused", refused, asked)
	}
	t.Logf("%d of %d requests were refused: %v", refused, asked, codes)
}
