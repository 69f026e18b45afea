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
		"GET /health": {id: "getHealth", summary: "Whether the process is alive.", out: body[health]()},
		"GET /ready": {
			id: "getReadiness", summary: "Whether the program can do its work, and if not, why.", out: body[health](),
			also: []openapi.Answer{{Status: http.StatusServiceUnavailable, Type: body[health](), About: "The program cannot do its work; reasons tells why."}},
		},
		"GET /metrics": {id: "getMetrics", summary: "Metrics for Prometheus.",
			about: "The GlobalApiKey is taken as `Authorization: Bearer` too. A scoped key gets the rows of its instances (`metrics.per_instance`), and the program's own figures only when it is for all instances.",
			media: "text/plain"},
		"POST /admin/backup": {
			id: "makeBackup", summary: "All that the program must not lose, as it is now, in one archive.",
			about: "A tar file with manifest.json, postern.db and secrets.json, or such a file encrypted by age when there are recipients. The data file is copied aside first, " +
				"so that the answer may take its time. It is verified while it is sent, before the encryption; when it could not be restored, or the program stops, the connection " +
				"is closed before the end. The trailer X-Postern-Sha256 of an encrypted one is the digest of the body. `postern restore` refuses one that was cut off.",
			in: body[backupRequest](), example: `{"recipients":["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]}`, media: mediaTar, codes: codes{codeBackup, codeRecipient},
		},
		"POST /admin/check": {
			id: "checkDataFile", summary: "Look for damage in the data file.",
			about: "The file is copied aside as it is at one moment, and the copy is read: its pages, the checksum of every record, and what the buckets are to hold.",
			out:   body[store.Report](), codes: codes{codeBackup},
		},
		"GET /admin/log": {id: "getLogLevel", summary: "The level of the log, and until when it is another than the usual one.", out: body[logState]()},
		"PUT /admin/log": {
			id: "changeLogLevel", summary: "Change the level of the log for a while.",
			about: "It falls back to log.level by itself, after 15 minutes unless the call says.",
			in:    body[logChange](), example: `{"level":"debug","minutes":10}`, out: body[logState](), codes: codes{codeLogLevel},
		},
		"DELETE /admin/log":    {id: "resetLogLevel", summary: "Go back to the usual level of the log at once.", out: body[logState]()},
		"GET /admin/log/lines": {id: "getLogLines", summary: "The last 2,000 lines of the log, as text.", media: "text/plain"},
		"GET /admin/stats": {
			id: "getStats", summary: "What the data file holds, bucket by bucket.",
			about: "The file is copied aside as it is at one moment, and the copy is read.", media: "application/json", codes: codes{codeBackup},
		},
		"GET /admin/profile/heap": {
			id: "getMemoryProfile", summary: "Where the program allocated its memory, as pprof reads it.",
			about: "What is in use, as of the last collection, and all that was allocated since the start.",
			query: []string{"debug"}, media: mediaBytes, codes: profileCodes,
		},
		"GET /admin/profile/goroutine": {
			id: "getGoroutineProfile", summary: "Where the goroutines of the program stand, as pprof reads it.",
			query: []string{"debug"}, media: mediaBytes, codes: profileCodes,
		},
		"GET /admin/profile/cpu": {
			id: "getProcessorProfile", summary: "What the processor does for the seconds to come, as pprof reads it.",
			about: "The answer comes at their end, or when the program stops before.",
			query: []string{"seconds"}, media: mediaBytes, codes: profileCodes,
		},
		"GET /openapi.json":         {id: "getOpenAPI", summary: "The OpenAPI document of this interface.", media: "application/json"},
		"GET /openapi-aliases.json": {id: "getOpenAPIAliases", summary: "The OpenAPI document of the older paths, each of which is another name of a current one.", media: "application/json"},
		"GET /asyncapi.json": {
			id: "getAsyncAPI", summary: "The AsyncAPI document of the WebSockets.", media: "application/json",
		},
		"GET /docs": {id: "getDocs", summary: "The interface as a page to read and to try.", media: "text/html"},
		"POST /auth/user-token": {
			id: "createUserToken", summary: "Make a token for a user.",
			about: "Users are whoever the operator says they are; they own batches.",
			in:    body[userTokenRequest](), example: `{"userId":"6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10","expiresIn":86400}`,
			status: http.StatusCreated, out: body[userToken](), codes: codes{"INVALID_USER_ID", codeExpiresIn},
			advice: map[string]string{codeExpiresIn: userTokenLife().advice()},
		},
		"GET /ws/global/events": {
			id: "openBatchEvents", summary: "A WebSocket with the batch events of the token's user.",
			about: "Each message is an event. Those after `since` that are still kept come first, in order.",
			query: []string{"event", "token", "since", "user"}, status: http.StatusSwitchingProtocols, codes: codes{"EVENTS_GONE", codeInvalidQuery, codeLimitReached},
		},
		"GET /ws/instance/events": {
			id: "openInstanceEvents", summary: "A WebSocket with the events of the token's instance.",
			about: "Each message is an event. Of an instance with `durable` in the options of its webhook, those after `since` that are still kept come first, in order.",
			query: []string{"event", "token", "since", "instance"}, status: http.StatusSwitchingProtocols,
			codes: codes{"INSTANCE_NOT_FOUND", "NOT_DURABLE", "EVENTS_GONE", codeInvalidQuery, codeLimitReached},
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
			codes: codes{"OUTBOX_ENTRY_NOT_FOUND", "OUTBOX_ENTRY_NOT_PENDING", "ENDPOINT_GONE"},
		},
		"POST /outbox/retry": {id: "retryOutbox", summary: "Try all pending events now.", out: body[retryAnswer]()},
	}
}

// operationFields are those of the operator's routes and of the outbox.
func operationFields() openapi.Fields {
	codes := make([]string, 0, len(Codes()))
	for _, c := range Codes() {
		if !c.Sandbox {
			codes = append(codes, c.Code)
		}
	}
	return openapi.Fields{
		"Error.statusCode": say("The status of the answer.", 422, openapi.Range(400, 599)),
		"Error.error":      say("The status in words with hyphens.", "unprocessable-entity"),
		"Error.code":       say("What happened, for programs.", "INVALID_RECIPIENT", openapi.OneOf(unique(codes)...)),
		"Error.messages":   say("What happened, for people; each names the field and the rule.", []any{"number has 5 digits, 7 to 15 are allowed"}),
		"Error.message":    say("The same as messages.", []any{"number has 5 digits, 7 to 15 are allowed"}),
		"Error.step":       say("The step that failed, with the code PROXY_UNREACHABLE only.", "auth"),
		"Error.requestId":  say("The id of the request, as in the header x-request-id and in the log.", exampleUUID),

		"Report.buckets":               say("Buckets of the file.", 62),
		"Report.records":               say("Records in them, the store's own notes left out.", 1042),
		"Report.bytes":                 say("Size of the file, in bytes.", 16805888),
		"Report.faults":                say("Each fault with what it costs, and whether a start puts it right; empty when there is none.", []string{}),
		"?debug":                       say("1: as text to read, and not in the format of pprof.", "1", openapi.OneOf("1")),
		"BackupRequest.withoutSecrets": say("Whether the API key and the secret of tokens are left out.", false),
		"BackupRequest.recipients":     say("Public keys of age, each of which can read the backup with its private one; empty: it is not encrypted.", []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}),
		"LogChange.level":              say("The level that the log is to have.", "debug", openapi.OneOf("debug", "info", "warn", "error")),
		"LogChange.minutes":            say("For how long; null or absent: 15.", 10, openapi.Range(1, maxLogMinutes)),
		"LogState.level":               say("The level that the log has.", "debug"),
		"LogState.usual":               say("The one of the configuration, to which it falls back.", "info"),
		"LogState.until":               say("When it falls back; null when it is the usual one.", "2026-03-04T05:06:07.000Z"),

		"Health.status":   say("ok of a process that lives, ready of one that can work, or that it is not.", "ready"),
		"Health.reasons":  say("Why the program cannot do its work.", nil),
		"Health.warnings": say("What an operator should look at, though the program works.", nil),

		"UserTokenRequest.userId":    say("The user; a new one when absent.", exampleUUID, openapi.Format("uuid")),
		"UserTokenRequest.expiresIn": say("How long the token is good, in seconds.", 86_400, userTokenLife().shape()),
		"UserToken.token":            say("The token, for Authorization: Bearer.", "eyJhbGciOiJIUzI1NiJ9.e30.signature"),
		"UserToken.userId":           say("The user that it is for.", exampleUUID, openapi.Format("uuid")),

		"OutboxEvent.id":            say("Its number among the events of all users, in the order in which they were committed.", 17, openapi.AtLeast(1)),
		"OutboxEvent.sequence":      say("Its number among the events of its user, from 1 and without holes; the WebSocket's since counts in it.", 5, openapi.AtLeast(1)),
		"OutboxEvent.event":         say("Its name.", string(event.BatchCompleted), openapi.OneOf(kinds(event.Batch)...)),
		"OutboxEvent.timestamp":     say("The time in the event's body.", exampleTime),
		"OutboxEvent.state":         say("Whether it waits for the receiver, was accepted by it, or was made while the global webhook was disabled.", "delivered", openapi.OneOf("pending", "delivered", "disabled")),
		"OutboxEvent.attempts":      say("How often it was sent.", 1, openapi.AtLeast(0)),
		"OutboxEvent.lastStatus":    say("The status that the receiver answered last; null when there was no answer.", 200),
		"OutboxEvent.lastError":     say("Why the last attempt failed; null when none did.", "connection refused"),
		"OutboxEvent.nextAttemptAt": say("When it is tried next; null unless it is pending.", exampleTime),
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
