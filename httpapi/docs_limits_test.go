package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"postern/event"
	"postern/httpapi/rest"
)

// TestExactlyWhatTheDocumentForbidsIsRefused varies the example of every body: each field in turn is omitted,
// gets another type, and is set to a limit of its schema and just beyond it. The program must refuse exactly what the
// document forbids.
func TestExactlyWhatTheDocumentForbidsIsRefused(t *testing.T) {
	r, token, _ := doing(t)
	r.instance("sales")
	chat := rest.ExampleJID
	stored := r.keep(t, event.Message{KeyID: rest.ExampleKeyID, KeyRemoteJID: &chat, KeyFromMe: true})
	raw, err := OpenAPI("", "test")
	var doc object
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := theWitness()
	if err != nil {
		t.Fatal(err)
	}
	scoped := r.newKey(`{"name":"k","instances":["*"],"scopes":["read"]}`)
	key := scoped.ID.String()
	rec, err := r.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	portal := r.linkTo(rec)
	schemas := doc["components"].(object)["schemas"].(object)
	tried := 0
	for _, row := range Routes() {
		path := documentPath(row.Path)
		content, ok := at(doc, "paths", path, strings.ToLower(row.Method), "requestBody", "content", "application/json").(object)
		if !ok {
			continue
		}
		example := content["example"]
		if o, ok := example.(object); ok && o["messageId"] != nil {
			o["messageId"] = stored
		}
		text, err := json.Marshal(example)
		if err != nil || example == nil {
			t.Errorf("%s %s has no example: %v", row.Method, path, err)
			continue
		}
		concretePath := strings.NewReplacer("{instanceName}", "a", "{batchId}", rest.ExampleUUID, "{keyId}", key, "/portal/{token}", portal).Replace(path)
		if err := w.Request(row.Method, concretePath, text); err != nil {
			t.Errorf("the example does not fit: %v", err)
		}
		for _, b := range breakages(schemas, content["schema"].(object), example, "") {
			tried++
			req := httptest.NewRequest(row.Method, concretePath, strings.NewReader(b.body))
			switch row.Auth {
			case AuthKey:
				req.Header.Set("apikey", testKey)
			case AuthCredential:
				req.Header.Set("Authorization", "Bearer "+scoped.Key)
			case AuthUser:
				req.Header.Set("Authorization", "Bearer "+r.token)
			default:
				req.Header.Set("Authorization", "Bearer "+token)
			}
			res := do(r.api, req)
			if b.allowed && slices.Contains(dependent, path+" "+b.field) {
				continue
			}
			if refused := res.StatusCode == 400 || res.StatusCode == 422; refused == b.allowed {
				t.Errorf("%s %s answers %s to %s: %.300s", row.Method, path, res.Status, b.what, b.body)
			}
		}
	}
	if tried < 400 {
		t.Errorf("only %d bodies were tried", tried)
	}
}

func at(v any, keys ...string) any {
	for _, key := range keys {
		o, _ := v.(object)
		v = o[key]
	}
	return v
}

// breakage is a body with one fault, or with one value at its limit.
type breakage struct {
	what, field string
	body        string
	allowed     bool
}

// dependent are fields whose values at the limit need other values than the example's beside them, or a file that can be
// fetched.
var dependent = []string{
	"/instance/{instanceName}/send/media mediaMessage.mediatype",      // the caption
	"/instance/{instanceName}/send/poll pollMessage.selectableCount",  // the answers
	"/instance/{instanceName}/chat/edit-message id",                   // messageId
	"/instance/{instanceName}/media/data id",                          // messageId
	"/instance/{instanceName}/media/data messageId",                   // the message has no file
	"/instance/{instanceName}/chat/presence presence",                 // chat
	"/instance/{instanceName}/media/uploads externalId",               // the file
	"/instance/{instanceName}/media/uploads fileName",                 // the file
	"/instance/{instanceName}/media/uploads mimetype",                 // the file
	"/instance/{instanceName}/media/uploads mediaType",                // the file
	"/instance/{instanceName}/group/update-picture image",             // a URL
	"/instance/{instanceName}/group/update-picture mediaUploadId",     // image
	"/instance/{instanceName}/send/reaction reactionMessage.serverId", // a newsletter
	"/message/batches options.delay.maxMs",                            // minMs
	"/instance/{instanceName}/send/status statusMessage.caption",      // the file, without a text
	"/instance/{instanceName}/send/status statusMessage.mediatype",    // the file, without a text
}

// breakages returns the example of a schema with one fault each.
func breakages(schemas, schema object, example any, where string) (all []breakage) {
	schema = resolved(schemas, schema, example)
	properties, _ := schema["properties"].(object)
	o, isObject := example.(object)
	if !isObject || properties == nil {
		return nil
	}
	with := func(what, name string, value any, keep bool) {
		c := maps.Clone(o)
		delete(c, name)
		if keep {
			c[name] = value
		}
		body, err := json.Marshal(c)
		if err == nil {
			all = append(all, breakage{what + " " + where + name, where + name, string(body), strings.HasPrefix(what, atLimit)})
		}
	}
	with("an unknown field", "nothingOfThatName", 1, true)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) {
			with("no", name, nil, false)
		}
		field := resolved(schemas, properties[name].(object), o[name])
		for _, bad := range beyond(field) {
			with(fmt.Sprintf("%.60v as", bad), name, bad, true)
		}
		for _, good := range within(field) {
			with(fmt.Sprintf("%s %.60v as", atLimit, good), name, good, true)
		}
		inner, ok := o[name].(object)
		if !ok {
			continue
		}
		for _, b := range breakages(schemas, field, inner, where+name+".") {
			c := maps.Clone(o)
			c[name] = json.RawMessage(b.body)
			if body, err := json.Marshal(c); err == nil {
				all = append(all, breakage{b.what, b.field, string(body), b.allowed})
			}
		}
	}
	return all
}

// resolved follows references, and selects the shape of a union that the value has.
func resolved(schemas, schema object, value any) object {
	if name, ok := strings.CutPrefix(fmt.Sprint(schema["$ref"]), "#/components/schemas/"); ok {
		merged := maps.Clone(schemas[name].(object))
		for key, v := range schema {
			if key != "$ref" {
				merged[key] = v
			}
		}
		return resolved(schemas, merged, value)
	}
	shapes, _ := schema["oneOf"].([]any)
	for _, shape := range shapes {
		s := resolved(schemas, shape.(object), value)
		kind := at(s, "properties", "type", "enum")
		of, isObject := value.(object)
		if kinds, ok := kind.([]any); ok && isObject && !slices.Contains(kinds, of["type"]) {
			continue
		}
		if s["type"] == "object" || !isObject && s["type"] != "null" {
			return s
		}
	}
	return schema
}

// beyond returns values that a schema forbids, just outside its limits.
func beyond(s object) (all []any) {
	number := func(key string) (int, bool) {
		f, ok := s[key].(float64)
		return int(f), ok
	}
	if n, ok := number("maxLength"); ok {
		all = append(all, strings.Repeat("x", n+1))
	}
	if n, ok := number("minLength"); ok && n > 0 {
		all = append(all, strings.Repeat("1", n-1))
	}
	if n, ok := number("maximum"); ok {
		all = append(all, n+1)
	}
	if n, ok := number("minimum"); ok {
		all = append(all, n-1)
	}
	if n, ok := number("minItems"); ok && n > 0 {
		all = append(all, []string{})
	}
	if n, ok := number("maxItems"); ok {
		many := make([]string, n+1)
		for i := range many {
			many[i] = fmt.Sprint("49151", 1_000_000+i)
		}
		all = append(all, many)
	}
	if s["enum"] != nil {
		if s["type"] == "integer" {
			all = append(all, 5)
		} else {
			all = append(all, "nothing-of-that-name")
		}
	}
	if s["pattern"] != nil {
		all = append(all, "\x01 /")
	}
	switch s["format"] {
	case "uri", "uuid", "date-time":
		all = append(all, "none of that kind")
	}
	switch kind := s["type"].(type) {
	case string:
		all = append(all, otherType(kind))
	case []any:
		all = append(all, otherType(fmt.Sprint(kind[0])))
	}
	return all
}

// atLimit is the beginning of the name of an allowed body.
const atLimit = "at its limit"

// within returns values just inside the limits of a schema, for kinds without other rules.
func within(s object) (all []any) {
	if n, ok := s["maxLength"].(float64); ok && s["format"] == nil && s["pattern"] == nil && s["enum"] == nil {
		all = append(all, strings.Repeat("x", int(n)))
	}
	for _, key := range []string{"minimum", "maximum"} {
		if n, ok := s[key].(float64); ok {
			all = append(all, int(n))
		}
	}
	values, _ := s["enum"].([]any)
	return append(all, values...)
}

func otherType(kind string) any {
	if kind == "object" || kind == "array" {
		return "text"
	}
	return object{"an": "object"}
}
