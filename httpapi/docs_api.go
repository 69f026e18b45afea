package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"postern/event"
	"postern/httpapi/batches"
	"postern/httpapi/chats"
	"postern/httpapi/deliveries"
	"postern/httpapi/files"
	"postern/httpapi/instances"
	"postern/httpapi/openapi"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/httpapi/sends"
)

// object is a part of a document.
type object = openapi.Object

// OpenAPI returns the OpenAPI 3.1 document of the interface, with the webhooks
// of all events: JSON with sorted keys. server is the public address,
// empty when it is the address that the document came from.
func OpenAPI(server, version string) ([]byte, error) {
	return json.Marshal(openapi.Build(describe(server, "", version)).OpenAPI)
}

// OpenAPIAliases returns the OpenAPI document of the older paths.
func OpenAPIAliases(server, version string) ([]byte, error) {
	return json.Marshal(openapi.Build(describe(server, "", version)).Aliases)
}

// describe collects the parts of the documents.
func describe(server, base, version string) openapi.API {
	return openapi.API{
		DocumentPath: pathOpenAPI, AliasesPath: pathAliases,
		Title: "Postern", Version: version, Server: server, Base: base,
		About: "WhatsApp accounts as an HTTP API: instances, webhooks, WebSockets and durable message batches.\n\n" +
			"Every answer has the header x-request-id: the caller's own, or a new one; it is in the log.",
		Tags: tags(), Operations: operations(), Credentials: credentials(), Codes: Codes(), Refusal: rest.TypeOf[rest.ErrorBody](),
		Types: types(), Fields: fieldWords(), Examples: rest.Examples(), Sockets: socketDocuments(),
	}
}

func credentials() map[string]object {
	return map[string]object{
		string(AuthKey):       {"type": "apiKey", "in": "header", "name": "apikey", "description": "The operator's key; x-api-key is accepted too."},
		string(AuthInstance):  {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "The token of the instance in the path."},
		string(AuthUser):      {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "The token of a user."},
		credentialScoped:      {"type": "http", "scheme": "bearer", "description": "A scoped key, pk_…, also accepted in the header apikey. It needs one of the scopes listed with the route. GET /instance shows it its own instances, without tokens. The session of a key has the same access."},
		credentialSession:     {"type": "apiKey", "in": "cookie", "name": rest.SessionCookie, "description": "The session of a browser, which acts for the key that signed in."},
		string(AuthHandshake): {"type": "apiKey", "in": "query", "name": "token", "description": "A token; Authorization: Bearer is accepted too."},
	}
}

// operations are the routes with their descriptions, in the order of the
// groups and of the table.
func operations() []openapi.Operation {
	var all []openapi.Operation
	for _, r := range Routes() {
		d := r.row
		o := openapi.Operation{
			Method: r.Method, Path: documentPath(r.Path), ID: d.ID, Tag: tagOf(r.Path), Summary: d.Summary, About: d.About,
			Query: d.Query, Once: d.Once, In: d.In, Example: d.Example, Form: d.Form, File: cmp.Or(d.File, rest.FileField),
			Answers: append([]openapi.Answer{{Status: cmp.Or(d.Status, http.StatusOK), Type: d.Out, Media: d.Media}}, d.MoreAnswers()...),
			Codes:   commonCodes(r).And(d.Codes...), Advice: d.Advice,
		}
		o.Credentials = credentialsOf(r)
		for _, path := range r.Aliases {
			o.Aliases = append(o.Aliases, openapi.Alias{Path: documentPath(path), ID: aliasID(r, path)})
		}
		all = append(all, o)
	}
	return all
}

// Credentials of the document besides those of the route table.
const (
	credentialScoped  = "ScopedKey"
	credentialSession = "Session"
)

// credentialsOf are the credentials that a route accepts; any one is enough.
func credentialsOf(r Route) (all []openapi.Credential) {
	scoped := openapi.Credential{Name: credentialScoped}
	for _, s := range r.Scopes {
		scoped.Scopes = append(scoped.Scopes, string(s))
	}
	switch r.Auth {
	case AuthNone, AuthLink:
		return nil
	case AuthCredential:
		all = []openapi.Credential{{Name: string(AuthKey)}, scoped}
		if r.Method != http.MethodPost { // which signs in
			all = append(all, openapi.Credential{Name: credentialSession})
		}
		return all
	case AuthKey, AuthInstance, AuthUser, AuthHandshake:
	}
	all = []openapi.Credential{{Name: string(r.Auth)}}
	if len(r.Scopes) > 0 {
		all = append(all, scoped)
	}
	return all
}

// documentPath gives the parameters of a path readable names.
func documentPath(path string) string {
	id := "{eventId}"
	switch {
	case strings.Contains(path, "/batches/"):
		id = "{batchId}"
	case strings.Contains(path, "/deliveries/"):
		id = "{deliveryId}"
	case strings.Contains(path, "/replays/"):
		id = "{replayId}"
	case strings.HasPrefix(path, "/keys"):
		id = "{keyId}"
	case strings.Contains(path, "upload"):
		id = "{uploadId}"
	}
	return strings.NewReplacer("{i}", "{instanceName}", "{id}", id, "{item}", "{itemId}", "{phone}", "{phoneNumber}").Replace(path)
}

// aliasID names the operation of an older path after its words. A suffix
// distinguishes paths with equal words, and the method those of a path with
// several.
func aliasID(r Route, path string) string {
	id, parameters := "legacy", []string{}
	for s := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if rest.IsParameter(s) {
			parameters = append(parameters, s)
			continue
		}
		for w := range strings.SplitSeq(s, "-") {
			id += strings.ToUpper(w[:1]) + w[1:]
		}
	}
	if len(parameters) == 2 && strings.HasSuffix(path, parameters[1]) {
		id += map[string]string{"{phone}": "ByPhone", "{i}": "Again"}[parameters[1]]
	}
	i := slices.IndexFunc(aliases(), func(a rest.Alias) bool { return a.From == path && slices.Contains(a.Methods, r.Method) })
	if i >= 0 && len(aliases()[i].Methods) > 1 {
		id += "By" + r.Method[:1] + strings.ToLower(r.Method[1:])
	}
	return id
}

func socketDocuments() []openapi.Socket {
	all := []openapi.Socket{
		{Name: "globalEvents", Union: "BatchEvent", ID: "openBatchEvents", About: "The batch events of the token's user, each as its webhook's body. Kept events after since are sent first."},
		{Name: "instanceEvents", Union: "InstanceEvent", ID: "openInstanceEvents", About: "The events of the token's instance, each as its webhook's body. If the instance's webhook is durable, kept events after since are sent first; otherwise events that occurred without a connected client are lost."},
		{Name: "console", ID: "openConsole", About: "What changes, as it changes.", Messages: consoleMessages()},
	}
	for _, d := range event.Catalogue() {
		i := 0
		if d.Family == event.Instance {
			i = 1
		}
		all[i].Events = append(all[i].Events, string(d.Kind))
	}
	return all
}

// fields explains the fields of all bodies, answers and events.
func fieldWords() openapi.Fields {
	all := openapi.Fields{}
	for _, theme := range []openapi.Fields{
		sharedFields(), errorFields(), parameterFields(), operator.Fields(), consoleFields(), instances.Fields(), sends.Fields(), files.Fields(), chats.Fields(), deliveries.Fields(),
		batches.Fields(),
	} {
		for key := range theme {
			if _, twice := all[key]; twice {
				panic(fmt.Sprintf("httpapi: the field %s is explained twice", key))
			}
		}
		maps.Copy(all, theme)
	}
	return all
}
