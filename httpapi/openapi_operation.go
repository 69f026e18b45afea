package httpapi

import (
	"net/http"

	"postern/batch"
	"postern/httpapi/openapi"
)

// The query of a list with cursors.
func cursors(more ...string) []string {
	return append(more, "limit", "nextCursor", "previousCursor")
}

func operationDescriptions() map[string]description {
	return map[string]description{
		"GET /health": {id: "getHealth", summary: "Whether the process is alive.", out: body[health]()},
		"GET /ready": {
			id: "getReadiness", summary: "Whether the program can do its work, and if not, why.", out: body[health](),
			also: []openapi.Answer{{Status: http.StatusServiceUnavailable, Type: body[health](), About: "The program cannot do its work; reasons tells why."}},
		},
		"GET /metrics":      {id: "getMetrics", summary: "Metrics for Prometheus.", media: "text/plain"},
		"GET /openapi.json": {id: "getOpenAPI", summary: "The OpenAPI document of this interface.", media: "application/json"},
		"GET /asyncapi.json": {
			id: "getAsyncAPI", summary: "The AsyncAPI document of the WebSockets.", media: "application/json",
		},
		"GET /docs": {id: "getDocs", summary: "The interface as a page to read and to try.", media: "text/html"},
		"POST /auth/user-token": {
			id: "createUserToken", summary: "Make a token for a user.",
			about: "Users are whoever the operator says they are; they own batches.",
			in:    body[userTokenRequest](), example: `{"userId":"6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10","expiresIn":86400}`,
			status: http.StatusCreated, out: body[userToken](), codes: codes{"INVALID_USER_ID", "INVALID_EXPIRES_IN"},
		},
		"GET /ws/global/events": {
			id: "openBatchEvents", summary: "A WebSocket with the batch events of the token's user.",
			about: "Each message is an event. Those after `since` that are still kept come first, in order.",
			query: []string{"event", "token", "since"}, status: http.StatusSwitchingProtocols, codes: codes{"EVENTS_GONE", codeInvalidQuery, codeLimitReached},
		},
		"GET /ws/instance/events": {
			id: "openInstanceEvents", summary: "A WebSocket with the events of the token's instance.", about: "Each message is an event.",
			query: []string{"event", "token"}, status: http.StatusSwitchingProtocols, codes: codes{"INSTANCE_NOT_FOUND", codeInvalidQuery, codeLimitReached},
		},
	}
}

func outboxDescriptions() map[string]description {
	return map[string]description{
		"GET /outbox": {
			id: "listOutbox", summary: "List the batch events of all users with their delivery, newest first.",
			query: cursors("state"), out: body[batch.List[outboxRecord]](), codes: codes{codeNoCursor},
		},
		"POST /outbox/{id}/retry": {
			id: "retryOutboxEvent", summary: "Try a pending event now.", out: body[outboxRecord](),
			codes: codes{"OUTBOX_ENTRY_NOT_FOUND", "OUTBOX_ENTRY_NOT_PENDING"},
		},
		"POST /outbox/retry": {id: "retryOutbox", summary: "Try all pending events now.", out: body[retryAnswer]()},
	}
}
