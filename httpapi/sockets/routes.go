package sockets

import "postern/httpapi/rest"

// Routes returns the paths of the package, with their handlers.
func (a *API) Routes() []rest.Route {
	return rest.Describe([]rest.Route{
		{Method: "GET", Path: "/ws/global/events", Auth: rest.Handshake, Right: rest.ScopeBatch, Handle: a.globalEvents},
		{Method: "GET", Path: "/ws/instance/events", Auth: rest.Handshake, Right: rest.ScopeRead, Handle: a.instanceEvents},
		{Method: "GET", Path: "/ws/console", Auth: rest.AnyKey, Right: rest.ScopeRead, Handle: a.openConsole},
	}, socketDescriptions(a.ConsoleMessage))
}
