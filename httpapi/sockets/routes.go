package sockets

import (
	"net/http"

	"postern/httpapi/rest"
)

// Routes returns the paths of the package, with their handlers and what the documents say about them.
func (a *API) Routes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/ws/global/events", Auth: rest.Handshake, Right: rest.ScopeBatch, Handle: a.globalEvents,
			ID: "openBatchEvents", Summary: "Open a WebSocket with the batch events of the token's user.",
			About: "Each message is an event. Kept events after `since` are sent first, in order.",
			Query: []string{"event", "token", "since", "user"}, Status: http.StatusSwitchingProtocols, Codes: rest.Codes{"EVENTS_GONE", rest.CodeInvalidQuery, rest.CodeLimitReached},
		},
		{
			Method: "GET", Path: "/ws/instance/events", Auth: rest.Handshake, Right: rest.ScopeRead, Handle: a.instanceEvents,
			ID: "openInstanceEvents", Summary: "Open a WebSocket with the events of the token's instance.",
			About: "Each message is an event. If the options of the instance's webhook have `durable`, kept events after `since` are sent first, in order.",
			Query: []string{"event", "token", "since", "instance"}, Status: http.StatusSwitchingProtocols,
			Codes: rest.Codes{"INSTANCE_NOT_FOUND", "NOT_DURABLE", "EVENTS_GONE", rest.CodeInvalidQuery, rest.CodeLimitReached},
		},
		{
			Method: "GET", Path: "/ws/console", Auth: rest.AnyKey, Right: rest.ScopeRead, Handle: a.openConsole,
			ID: "openConsole", Summary: "Open a WebSocket with the changes that an operator console shows.",
			About: "Each message is one JSON object; `hello` is the first. A client that connects or reconnects loads the current state from the other routes after `hello`, " +
				"then applies the messages. A row is sent in its current state, at most five times a second; changes in between are combined.",
			Status: http.StatusSwitchingProtocols, Out: a.ConsoleMessage, Codes: rest.Codes{"ORIGIN_REFUSED", rest.CodeUpgradeRequired, CodeInvalidSubscription, rest.CodeInvalidQuery, rest.CodeLimitReached},
		},
	}
}
