package httpapi

import (
	"slices"

	"postern/access"
)

// Route describes one path of the interface, for documents and tests.
type Route struct {
	Method string
	Path   string // with its parameters in braces
	Auth   Auth
	// Aliases are the other paths with the same meaning, for this method.
	Aliases []string
	// Scopes are those of which a scoped key needs one; none: no such key opens it.
	Scopes []access.Scope
	// Everywhere requires a key for all instances.
	Everywhere bool
}

// Auth names the credential that a route asks for.
type Auth string

// The credentials.
const (
	AuthNone     Auth = "none"
	AuthKey      Auth = "GlobalApiKey"
	AuthInstance Auth = "InstanceBearer"
	AuthUser     Auth = "UserBearer"
	// AuthHandshake is the token of a WebSocket, which may also stand in the
	// query.
	AuthHandshake Auth = "token"
	// AuthCredential is the GlobalApiKey, a scoped key or the cookie of a session.
	AuthCredential Auth = "key"
	// AuthLink is the secret of a portal link, in the path.
	AuthLink Auth = "link"
)

// Routes returns every path of the interface, with those that depend on the
// configuration. The sandbox's own paths are not in it.
func Routes() []Route {
	var all []Route
	for _, r := range append(routes(), unlisted()...) {
		listed := Route{Method: r.method, Path: r.path, Auth: r.auth.name(), Scopes: r.right.needs(), Everywhere: r.right&everywhere != 0}
		for _, a := range aliases() {
			if a.to == r.path && slices.Contains(a.methods, r.method) {
				listed.Aliases = append(listed.Aliases, a.from)
			}
		}
		all = append(all, listed)
	}
	return all
}

func (s scheme) name() Auth {
	switch s {
	case globalKey:
		return AuthKey
	case signIn, anyKey:
		return AuthCredential
	case portalLink:
		return AuthLink
	case instanceBearer, pathBearer:
		return AuthInstance
	case userBearer:
		return AuthUser
	case handshake:
		return AuthHandshake
	default:
		return AuthNone
	}
}

// Paths whose handlers are made from the configuration.
const (
	pathMetrics  = "/metrics"
	pathOpenAPI  = "/openapi.json"
	pathAliases  = "/openapi-aliases.json" // the same for older paths
	pathAsyncAPI = "/asyncapi.json"
	pathDocs     = "/docs"
	pathMCP      = "/mcp" // of another protocol, and in none of the documents
)

// unlisted are the routes that New adds to those of the table.
func unlisted() []route {
	return []route{
		{method: "GET", path: pathMetrics, auth: globalKey, right: scopeMetrics},
		{method: "GET", path: pathOpenAPI, auth: public},
		{method: "GET", path: pathAliases, auth: public},
		{method: "GET", path: pathAsyncAPI, auth: public},
		{method: "GET", path: pathDocs, auth: public},
	}
}
