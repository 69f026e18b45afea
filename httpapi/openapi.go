package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"postern/event"
)

// object is a part of the document.
type object = map[string]any

// OpenAPI returns the OpenAPI 3.1 document of the interface, with the webhooks
// of all 45 events: indented JSON with sorted keys. server is the public
// address, empty when it is the address that the document came from.
func OpenAPI(server, version string) ([]byte, error) {
	if server == "" {
		server = "/"
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Postern", "version": version, "license": object{"name": "GPL-3.0-or-later", "identifier": "GPL-3.0-or-later"},
			"description": "WhatsApp accounts as an HTTP API: instances, webhooks, WebSockets and durable message batches.",
		},
		"servers":  []object{{"url": server}},
		"paths":    paths(),
		"webhooks": webhooks(),
		"components": object{
			"schemas":         object{"Error": errorSchema()},
			"securitySchemes": securitySchemes(),
		},
	}
	return json.MarshalIndent(doc, "", " ")
}

func securitySchemes() object {
	return object{
		string(AuthKey): object{"type": "apiKey", "in": "header", "name": "apikey", "description": "The operator's key; x-api-key is taken too."},
		string(AuthInstance): object{
			"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "The token of the instance in the path.",
		},
		string(AuthUser):      object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "The token of a user."},
		string(AuthHandshake): object{"type": "apiKey", "in": "query", "name": "token", "description": "A token; Authorization: Bearer is taken too."},
	}
}

func paths() object {
	all, about := object{}, descriptions()
	for _, r := range Routes() {
		d := about[r.Method+" "+r.Path]
		path, ok := all[r.Path].(object)
		if !ok {
			path = object{}
			all[r.Path] = path
		}
		path[strings.ToLower(r.Method)] = operation(r, d)
	}
	return all
}

func operation(r Route, d description) object {
	o := object{
		"operationId": operationID(r), "summary": d.summary, "tags": []string{tagOf(r.Path)},
		"responses": object{
			strconv.Itoa(d.status): successOf(d),
			"default":              object{"description": "A refusal.", "content": jsonContent(object{"$ref": "#/components/schemas/Error"})},
		},
	}
	if len(r.Aliases) > 0 {
		o["description"] = "Also at " + strings.Join(r.Aliases, ", ") + "."
	}
	if r.Auth != AuthNone {
		o["security"] = []object{{string(r.Auth): []string{}}}
	}
	parameters := parametersOf(r.Path, d.query)
	if d.once {
		parameters = append(parameters, keyParameter())
	}
	if len(parameters) > 0 {
		o["parameters"] = parameters
	}
	if content := bodiesOf(d); len(content) > 0 {
		o["requestBody"] = object{"required": d.form != nil || len(requiredFields(d.in)) > 0, "content": content}
	}
	return o
}

// bodiesOf are the bodies that a route takes, by content type.
func bodiesOf(d description) object {
	content := object{}
	if d.in != nil {
		content = jsonContent(requestSchema(d.in))
	}
	if d.form != nil {
		fields := object{fileField: object{"type": "string", "contentMediaType": "application/octet-stream"}}
		for _, name := range d.form {
			fields[name] = object{"type": "string"}
		}
		schema := object{"type": "object", "properties": fields, "required": []string{fileField}, "additionalProperties": false}
		content["multipart/form-data"] = object{"schema": schema}
	}
	return content
}

func successOf(d description) object {
	o := object{"description": http.StatusText(d.status)}
	switch {
	case d.out != nil:
		o["content"] = jsonContent(event.TypeSchema(d.out))
	case d.media != "":
		o["content"] = object{d.media: object{}}
	}
	return o
}

func jsonContent(schema object) object { return object{"application/json": object{"schema": schema}} }

// operationID is unique and stable: the method and the words of the path.
func operationID(r Route) string {
	words := strings.FieldsFunc(r.Path, func(c rune) bool { return strings.ContainsRune("/{}.-", c) })
	return strings.ToLower(r.Method) + "_" + strings.Join(words, "_")
}

// tagOf groups routes by what they are about.
func tagOf(path string) string {
	switch {
	case strings.HasPrefix(path, "/message/batches"):
		return "Batches"
	case strings.HasPrefix(path, "/ws/"):
		return "WebSockets"
	case strings.Contains(path, "/connect") || strings.HasSuffix(path, "/logout") || strings.HasSuffix(path, "/restart") || strings.HasSuffix(path, ".png"):
		return "Connection"
	case strings.Contains(path, "/webhook"):
		return "Webhook"
	case strings.Contains(path, "/send/"):
		return "Sending"
	case strings.Contains(path, "/chat/"):
		return "Chats"
	case strings.HasPrefix(path, "/instance"):
		return "Instances"
	default:
		return "Operation"
	}
}

func parametersOf(path string, query []string) []object {
	var all []object
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			all = append(all, object{
				"name": name, "in": "path", "required": true, "schema": object{"type": "string"}, "description": parameterHelp(name),
			})
		}
	}
	for _, name := range query {
		all = append(all, object{"name": name, "in": "query", "schema": object{"type": "string"}})
	}
	return all
}

func keyParameter() object {
	return object{
		"name": idempotencyHeader, "in": "header", "schema": object{"type": "string", "minLength": 1, "maxLength": maxIdempotencyKey},
		"description": "A repeated request with the same key and body gets the first answer again, for 24 hours.",
	}
}

func parameterHelp(name string) string {
	switch name {
	case "i":
		return "The instance's name."
	case "id":
		return "The batch's id, a UUID."
	case "item":
		return "The item's id, a UUID."
	default:
		return "A phone number with its country code."
	}
}

// requestSchema is the schema of a body as the strict decoder reads it.
func requestSchema(t reflect.Type) object {
	properties := object{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		s := fieldSchema(f.Type)
		if kind, ok := s["type"]; ok && strings.Contains(f.Tag.Get("strict"), "null") {
			s["type"] = []any{kind, "null"}
		}
		properties[name] = s
	}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if required := requiredFields(t); len(required) > 0 {
		o["required"] = required
	}
	return o
}

func fieldSchema(t reflect.Type) object {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[jsonObject](), reflect.TypeFor[json.RawMessage]():
		return object{"type": "object"}
	case reflect.TypeFor[oneOrMore]():
		return object{"type": []any{"string", "array"}, "items": object{"type": "string"}}
	}
	if t.Kind() == reflect.Struct && t != reflect.TypeFor[event.Time]() {
		return requestSchema(t)
	}
	return event.TypeSchema(t)
}

func requiredFields(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if strings.Contains(f.Tag.Get("strict"), "required") {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func errorSchema() object {
	s := event.TypeSchema(reflect.TypeFor[errorBody]())
	var codes []string
	for _, c := range Codes() {
		codes = append(codes, c.Code)
	}
	slices.Sort(codes)
	s["properties"].(object)["code"] = object{"type": "string", "enum": slices.Compact(codes)}
	return s
}

// webhooks describes what receivers get, by event.
func webhooks() object {
	all := object{}
	for _, d := range event.Catalogue() {
		schema := event.Schema(d.Kind)
		delete(schema, "$schema")
		about := fmt.Sprintf("Sent to the instance's webhook when its flag %s is set, and to the global webhook.", d.Flag)
		if d.Family == event.Batch {
			about = "Sent to the global webhook, until it is accepted."
		}
		if d.Gate != event.NoGate {
			about += fmt.Sprintf(" Needs %s.", d.Gate)
		}
		all[string(d.Kind)] = object{"post": object{
			"summary": string(d.Kind), "description": about, "tags": []string{"Events"},
			"requestBody": object{"required": true, "content": jsonContent(schema)},
			"responses":   object{"2XX": object{"description": "Accepted. Anything else is a failure."}},
		}}
	}
	return all
}
