package httpapi

import (
	"net/http"

	"postern/batch"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/store"
)

func operationDescriptions() map[string]description {
	profileCodes := codes{codeProfiling, codeInvalidQuery}
	return map[string]description{
		"GET /health": {id: "getHealth", summary: "Check whether the process is alive.", out: body[health]()},
		"GET /ready": {
			id: "getReadiness", summary: "Check whether the program can do its work, and if not, why.", out: body[health](),
			also: []openapi.Answer{{Status: http.StatusServiceUnavailable, Type: body[health](), About: "The program cannot do its work; reasons says why."}},
		},
		"GET /metrics": {id: "getMetrics", summary: "Get metrics for Prometheus.",
			about: "The GlobalApiKey is also accepted as `Authorization: Bearer`. A scoped key gets the rows of its instances (`metrics.per_instance`), and the program's own figures only when it is for all instances.",
			media: "text/plain"},
		"POST /admin/backup": {
			id: "makeBackup", summary: "Back up the data file and the secrets in one archive.",
			about: "A tar file with manifest.json, postern.db and secrets.json, encrypted with age when there are recipients. The data file is copied first, " +
				"so a slow download is safe. The archive is verified while it is sent, before the encryption; when it could not be restored, or the program stops, the connection " +
				"is closed early. The trailer X-Postern-Sha256 of an encrypted archive is the digest of the body. `postern restore` refuses a truncated archive.",
			in: body[backupRequest](), example: `{"recipients":["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]}`, media: mediaTar, codes: codes{codeBackup, codeRecipient},
		},
		"POST /admin/check": {
			id: "checkDataFile", summary: "Check the data file for damage.",
			about: "Checks a snapshot of the file: its pages, the checksum of every record, and the references between buckets.",
			out:   body[store.Report](), codes: codes{codeBackup},
		},
		"GET /admin/log": {id: "getLogLevel", summary: "Show the log level, and until when it differs from the configured one.", out: body[logState]()},
		"PUT /admin/log": {
			id: "changeLogLevel", summary: "Change the log level temporarily.",
			about: "It reverts to log.level by itself, after 15 minutes unless minutes is given.",
			in:    body[logChange](), example: `{"level":"debug","minutes":10}`, out: body[logState](), codes: codes{codeLogLevel},
		},
		"DELETE /admin/log":    {id: "resetLogLevel", summary: "Reset the log level to the configured one.", out: body[logState]()},
		"GET /admin/log/lines": {id: "getLogLines", summary: "Get the last 2,000 log lines, as text.", media: "text/plain"},
		"GET /admin/stats": {
			id: "getStats", summary: "Show the contents of the data file by bucket.",
			about: "Reads a snapshot of the file.", media: "application/json", codes: codes{codeBackup},
		},
		"GET /admin/profile/heap": {
			id: "getMemoryProfile", summary: "Get a heap profile for pprof.",
			about: "Memory in use as of the last garbage collection, and all allocations since the start.",
			query: []string{"debug"}, media: mediaBytes, codes: profileCodes,
		},
		"GET /admin/profile/goroutine": {
			id: "getGoroutineProfile", summary: "Get a goroutine profile for pprof.",
			query: []string{"debug"}, media: mediaBytes, codes: profileCodes,
		},
		"GET /admin/profile/cpu": {
			id: "getProcessorProfile", summary: "Take a CPU profile for pprof.",
			about: "The answer comes after the given seconds, or when the program stops.",
			query: []string{"seconds"}, media: mediaBytes, codes: profileCodes,
		},
		"GET /openapi.json":         {id: "getOpenAPI", summary: "Get the OpenAPI document of this API.", media: "application/json"},
		"GET /openapi-aliases.json": {id: "getOpenAPIAliases", summary: "Get the OpenAPI document of the older paths, which are aliases of current ones.", media: "application/json"},
		"GET /asyncapi.json": {
			id: "getAsyncAPI", summary: "Get the AsyncAPI document of the WebSockets.", media: "application/json",
		},
		"GET /docs": {id: "getDocs", summary: "Get the API reference as an interactive page.", media: "text/html"},
		"POST /auth/user-token": {
			id: "createUserToken", summary: "Create a token for a user.",
			about: "The operator defines the users by their UUIDs; users own batches.",
			in:    body[userTokenRequest](), example: `{"userId":"6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10","expiresIn":86400}`,
			status: http.StatusCreated, out: body[userToken](), codes: codes{"INVALID_USER_ID", codeExpiresIn},
			advice: map[string]string{codeExpiresIn: userTokenLife().advice()},
		},
		"GET /ws/global/events": {
			id: "openBatchEvents", summary: "Open a WebSocket with the batch events of the token's user.",
			about: "Each message is an event. Kept events after `since` are sent first, in order.",
			query: []string{"event", "token", "since", "user"}, status: http.StatusSwitchingProtocols, codes: codes{"EVENTS_GONE", codeInvalidQuery, codeLimitReached},
		},
		"GET /ws/instance/events": {
			id: "openInstanceEvents", summary: "Open a WebSocket with the events of the token's instance.",
			about: "Each message is an event. If the options of the instance's webhook have `durable`, kept events after `since` are sent first, in order.",
			query: []string{"event", "token", "since", "instance"}, status: http.StatusSwitchingProtocols,
			codes: codes{"INSTANCE_NOT_FOUND", "NOT_DURABLE", "EVENTS_GONE", codeInvalidQuery, codeLimitReached},
		},
	}
}

func outboxDescriptions() map[string]description {
	return map[string]description{
		"GET /outbox": {
			id: "listOutbox", summary: "List the batch events of all users with their delivery state, newest first.",
			query: cursors("state"), out: body[batch.List[outboxRecord]](), codes: codes{codeNoCursor},
		},
		"POST /outbox/{id}/retry": {
			id: "retryOutboxEvent", summary: "Retry a pending event now.", out: body[outboxRecord](),
			codes: codes{"OUTBOX_ENTRY_NOT_FOUND", "OUTBOX_ENTRY_NOT_PENDING", "ENDPOINT_GONE"},
		},
		"POST /outbox/retry": {id: "retryOutbox", summary: "Retry all pending events now.", out: body[retryAnswer]()},
	}
}

// operationFields are the fields of the operator's routes and of the outbox.
func operationFields() openapi.Fields {
	codes := make([]string, 0, len(Codes()))
	for _, c := range Codes() {
		if !c.Sandbox {
			codes = append(codes, c.Code)
		}
	}
	return openapi.Fields{
		"Error.statusCode": say("The status of the answer.", 422, openapi.Range(400, 599)),
		"Error.error":      say("The text of the status, with hyphens.", "unprocessable-entity"),
		"Error.code":       say("The error code, for programs.", "INVALID_RECIPIENT", openapi.OneOf(unique(codes)...)),
		"Error.messages":   say("The error for people; each message names the field and the rule.", []any{"number has 5 digits, 7 to 15 are allowed"}),
		"Error.message":    say("The same as messages.", []any{"number has 5 digits, 7 to 15 are allowed"}),
		"Error.step":       say("The step that failed; only with the code PROXY_UNREACHABLE.", "auth"),
		"Error.requestId":  say("The id of the request, as in the header x-request-id and in the log.", exampleUUID),

		"Report.buckets":               say("The number of buckets.", 62),
		"Report.records":               say("The number of records, without the store's internal ones.", 1042),
		"Report.bytes":                 say("The size of the file, in bytes.", 16805888),
		"Report.faults":                say("The faults, each with its effect and whether a start repairs it; empty when there is none.", []string{}),
		"?debug":                       say("1: as readable text instead of the pprof format.", "1", openapi.OneOf("1")),
		"BackupRequest.withoutSecrets": say("Whether to leave out the API key and the token secret.", false),
		"BackupRequest.recipients":     say("age public keys; any of their private keys can decrypt the backup; empty: it is not encrypted.", []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}),
		"LogChange.level":              say("The new log level.", "debug", openapi.OneOf("debug", "info", "warn", "error")),
		"LogChange.minutes":            say("The duration in minutes; null or absent: 15.", 10, openapi.Range(1, maxLogMinutes)),
		"LogState.level":               say("The current log level.", "debug"),
		"LogState.usual":               say("The configured level, to which it reverts.", "info"),
		"LogState.until":               say("When it reverts; null when it is the configured one.", "2026-03-04T05:06:07.000Z"),

		"Health.status":   say("ok for a live process; ready, or that it is not ready.", "ready"),
		"Health.reasons":  say("Why the program cannot do its work.", nil),
		"Health.warnings": say("Problems that need the operator's attention although the program works.", nil),

		"UserTokenRequest.userId":    say("The user; a new one when absent.", exampleUUID, openapi.Format("uuid")),
		"UserTokenRequest.expiresIn": say("How long the token is valid, in seconds.", 86_400, userTokenLife().shape()),
		"UserToken.token":            say("The token, for Authorization: Bearer.", "eyJhbGciOiJIUzI1NiJ9.e30.signature"),
		"UserToken.userId":           say("The user that it is for.", exampleUUID, openapi.Format("uuid")),

		"OutboxEvent.id":            say("Its number among the events of all users, in commit order.", 17, openapi.AtLeast(1)),
		"OutboxEvent.sequence":      say("Its sequence number for its user, from 1 and without gaps; since of the WebSocket refers to it.", 5, openapi.AtLeast(1)),
		"OutboxEvent.event":         say("Its name.", string(event.BatchCompleted), openapi.OneOf(kinds(event.Batch)...)),
		"OutboxEvent.timestamp":     say("The time in the event's body.", exampleTime),
		"OutboxEvent.state":         say("pending, delivered, or created while the global webhook was disabled.", "delivered", openapi.OneOf("pending", "delivered", "disabled")),
		"OutboxEvent.attempts":      say("The number of attempts.", 1, openapi.AtLeast(0)),
		"OutboxEvent.lastStatus":    say("The status of the receiver's last answer; null when there was none.", 200),
		"OutboxEvent.lastError":     say("Why the last attempt failed; null when none did.", "connection refused"),
		"OutboxEvent.nextAttemptAt": say("The time of the next attempt; null unless it is pending.", exampleTime),
		"OutboxEvent.deliveredAt":   say("When the receiver accepted it; null until then.", exampleTime),
		"RetryAnswer.retried":       say("How many pending events are due now.", 3, openapi.AtLeast(0)),
	}
}

func unique(all []string) (each []string) {
	seen := map[string]bool{}
	for _, s := range all {
		if !seen[s] {
			seen[s] = true
			each = append(each, s)
		}
	}
	return each
}

// kinds are the events of a family.
func kinds(f event.Family) (all []event.Kind) {
	for _, d := range event.Catalogue() {
		if d.Family == f {
			all = append(all, d.Kind)
		}
	}
	return all
}
