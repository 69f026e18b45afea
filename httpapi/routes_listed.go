package httpapi

import (
	"slices"

	"postern/access"
	"postern/httpapi/rest"
)

// Route describes one path of the interface, for documents and tests.
type Route struct {
	Method string
	Path   string // with its parameters in braces
	Auth   Auth
	// Aliases are the other paths with the same meaning, for this method.
	Aliases []string
	// Scopes are those of which a scoped key needs one; none: no scoped key opens it.
	Scopes []access.Scope
	// Everywhere requires a key for all instances.
	Everywhere bool

	row rest.Route
}

// Auth is the credential that a route requires.
type Auth string

// The credentials.
const (
	AuthNone     Auth = "none"
	AuthKey      Auth = "GlobalApiKey"
	AuthInstance Auth = "InstanceBearer"
	AuthUser     Auth = "UserBearer"
	// AuthHandshake is the token of a WebSocket, which may also be in the query.
	AuthHandshake Auth = "token"
	// AuthCredential is the GlobalApiKey, a scoped key or the cookie of a session.
	AuthCredential Auth = "key"
	// AuthLink is the secret of a portal link, in the path.
	AuthLink Auth = "link"
)

// Routes returns every path of the interface, including those that depend on the configuration, without the
// sandbox's own paths.
func Routes() []Route {
	var all []Route
	for _, r := range append(routes(), unlisted()...) {
		listed := Route{Method: r.Method, Path: r.Path, Auth: authName(r.Auth), Scopes: r.Right.Needs(), Everywhere: r.Right&rest.Everywhere != 0, row: r}
		for _, a := range aliases() {
			if a.To == r.Path && slices.Contains(a.Methods, r.Method) {
				listed.Aliases = append(listed.Aliases, a.From)
			}
		}
		all = append(all, listed)
	}
	return all
}

func authName(s rest.Scheme) Auth {
	switch s {
	case rest.GlobalKey:
		return AuthKey
	case rest.SignIn, rest.AnyKey:
		return AuthCredential
	case rest.PortalLink:
		return AuthLink
	case rest.InstanceBearer, rest.PathBearer:
		return AuthInstance
	case rest.UserBearer:
		return AuthUser
	case rest.Handshake:
		return AuthHandshake
	default:
		return AuthNone
	}
}

// Paths whose handlers depend on the configuration.
const (
	pathOpenAPI  = "/openapi.json"
	pathAliases  = "/openapi-aliases.json" // the same for older paths
	pathAsyncAPI = "/asyncapi.json"
	pathDocs     = "/docs"
	pathMCP      = "/mcp" // of another protocol, and in none of the documents
)

// unlisted are the routes that New adds to those of the table.
func unlisted() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: rest.PathMetrics, Auth: rest.GlobalKey, Right: rest.ScopeMetrics,
			ID: "getMetrics", Summary: "Get metrics for Prometheus.",
			About: "The GlobalApiKey is also accepted as `Authorization: Bearer`. A scoped key gets the rows of its instances (`metrics.per_instance`), and the program's own figures only when it is for all instances.",
			Media: "text/plain",
		},
		{Method: "GET", Path: pathOpenAPI, Auth: rest.Public, ID: "getOpenAPI", Summary: "Get the OpenAPI document of this API.", Media: "application/json"},
		{Method: "GET", Path: pathAliases, Auth: rest.Public, ID: "getOpenAPIAliases", Summary: "Get the OpenAPI document of the older paths, which are aliases of current ones.", Media: "application/json"},
		{Method: "GET", Path: pathAsyncAPI, Auth: rest.Public, ID: "getAsyncAPI", Summary: "Get the AsyncAPI document of the WebSockets.", Media: "application/json"},
		{Method: "GET", Path: pathDocs, Auth: rest.Public, ID: "getDocs", Summary: "Get the API reference as an interactive page.", Media: "text/html"},
	}
}
