package httpapi

import (
	"net/http"
	"strings"

	"postern/access"
	"postern/batch"
	"postern/httpapi/openapi"
)

func accessDescriptions() map[string]description {
	return map[string]description{
		"POST /keys": {
			id: "createKey", summary: "Create a scoped key.", about: "Only this answer has the key's text: the program stores its SHA-256.",
			in:      body[createKeyRequest](),
			example: `{"name":"monitoring","instances":["*"],"scopes":["read","metrics"]}`,
			status:  http.StatusCreated, out: body[createdKey](), codes: codes{codeInvalidKeyRule, codeLimitReached, "DISK_FULL"},
		},
		"GET /keys":      {id: "listKeys", summary: "List the scoped keys, newest first, including expired ones.", query: cursors(), out: body[batch.List[keyView]](), codes: codes{codeNoCursor}},
		"GET /keys/{id}": {id: "getKey", summary: "Show a scoped key, and what keeps running when it is deleted.", out: body[shownKey](), codes: codes{"KEY_NOT_FOUND"}},
		"PATCH /keys/{id}": {
			id: "changeKey", summary: "Change the name, instances, recipients, rate limit or expiry of a scoped key.",
			about: "Its scopes cannot be changed. When the change narrows the key or shortens its life, its WebSockets are closed with 4003.",
			in:    body[changeKeyRequest](), example: `{"expiresAt":"2027-01-01T00:00:00Z"}`, out: body[keyView](), codes: codes{"KEY_NOT_FOUND", codeInvalidKeyRule},
		},
		"DELETE /keys/{id}": {
			id: "deleteKey", summary: "Revoke a scoped key and close its WebSockets.",
			about: "The answer is the key as it was; `batches` and `webhooks` list what it leaves running. With `stop=true` its unfinished batches are stopped, as by POST /message/batches/{id}/stop, and the webhooks and endpoints that it changed last get `enabled: false`; `stopped` has both. " +
				"When such a call fails half-way, or the program ends, the key is already deleted; repeating the call, or the next start, does the rest.",
			query: []string{"stop"}, out: body[deletedKey](), codes: codes{"KEY_NOT_FOUND", "DISK_FULL"},
		},
		"GET /audit": {
			id: "listAudit", summary: "List the audit log, newest first.",
			about: "An actor adds at most 60 records in a minute; its further changes are combined into one record with the action `audit.more` and their number in `count`, written by the end of the minute. A request scans at most 20,000 records: with a filter, a page may have fewer records than its limit, even none, and still a nextCursor. Continue until it is null.",
			query: cursors("actor", "action", "subject", "since", "until"), out: body[auditList](), codes: codes{codeNoCursor},
		},
		"POST /session": {
			id: "beginSession", summary: "Sign a browser in.",
			about: "The answer sets the cookie postern_session (over https `__Host-postern_session`, with eight hex digits behind it below a base path), which acts for the key for at most twelve hours. Requests with that cookie that change something need csrf in the header x-postern-csrf. " +
				"The session of the GlobalApiKey opens every instance too and, with the UUID of a user in the header x-postern-user, that user's batches. An address can start at most ten sessions a minute.",
			status: http.StatusCreated, out: body[begunSession](), codes: codes{"DISK_FULL", codeRateLimited},
		},
		"GET /session": {id: "getSession", summary: "Show what the key, or the session of the cookie, may do.", out: body[shownSession]()},
		"POST /session/calls": {
			id: "noteAgentCall", summary: "Record in the audit log what an agent did with the scoped key.", about: "For programs that serve agents, such as `postern mcp`: 120 calls a minute, and 256 at once. Calls at /mcp are recorded without it.",
			in: body[agentCall](), example: `{"tool":"send_message","outcome":"done","instance":"sales"}`, status: http.StatusNoContent, codes: codes{"INVALID_ARGUMENT", "DISK_FULL", codeScope, codeRateLimited},
		},
		"DELETE /session": {
			id: "endSession", summary: "Sign the browser out, and close the WebSockets of the session.",
			about: "With `all=true` it ends all sessions of the same key; the key itself may do that without a session.",
			query: []string{"all"}, status: http.StatusNoContent,
		},
	}
}

func accessFields() openapi.Fields {
	uuid, scopes := openapi.Format("uuid"), strings.Split(access.Listed(), ", ")
	return openapi.Fields{
		"CreatedKey.key": say("The key's text, for `Authorization: Bearer` or `apikey`. Only this answer has it.", "pk_1Gh…"),

		"Key.id": say("The key's id, which is in the log and in the audit log.", exampleUUID, uuid), "Key.name": say("A name for people.", "monitoring"),
		"Key.instances":    say("The names of the instances that it is for, without deleted ones; `*` alone: all, including those created later.", []string{"*"}),
		"Key.scopes":       say("What it may do: "+strings.Join(scopes, ", ")+".", []string{"read", "metrics"}),
		"Key.userId":       say("The user whose batches it opens; null for none.", exampleUUID, uuid, openapi.OrNull()),
		"Key.recipients":   say("The addresses that it may write to; null: all.", []string{exampleJID}, openapi.OrNull()),
		"Key.rateLimit":    say("How many requests it may make; null: unlimited.", nil),
		"Key.expiresAt":    say("When it expires; null: never.", exampleTime, openapi.OrNull()),
		"Key.lastUsedAt":   say("When it was used last; null: never. It may be a minute late after a crash.", exampleTime, openapi.OrNull()),
		"Key.lastUsedFrom": say("The address that it was used from.", "192.0.2.7", openapi.OrNull()),

		"KeyRunning.batches":       say("Unfinished batches that it created or started last, the oldest first, 1,000 at most.", nil),
		"KeyRunning.totalBatches":  say("How many such batches there are.", 1, openapi.AtLeast(0)),
		"KeyRunning.webhooks":      say("Enabled webhooks and endpoints that it changed last, 1,000 at most. A PUT of webhook options changes all endpoints that it names, and not the webhook.", nil),
		"KeyRunning.totalWebhooks": say("How many such webhooks and endpoints there are.", 1, openapi.AtLeast(0)),
		"DeletedKey.stopped":       say("What was stopped: batches with their current status, webhooks as they were. Absent without `stop`.", nil),
		"KeyBatch.id":              say("The batch.", exampleUUID, uuid), "KeyBatch.name": say("Its name.", "news"), "KeyBatch.status": say("Its status.", "PROCESSING"),
		"KeyReceiver.instanceId": say("The instance whose events it receives.", 1), "KeyReceiver.instanceName": say("The name of that instance.", exampleName),
		"KeyReceiver.target":     say("The instance's webhook, or an endpoint of its options.", "webhook", openapi.OneOf("webhook", "endpoint")),
		"KeyReceiver.endpointId": say("The endpoint's id; absent for the webhook.", "crm"),
		"KeyReceiver.url":        say("Where it goes, without the query.", "https://example.org/hook"),

		"?stop": say("true: stop what the key left running.", false, openapi.Kind("boolean"), openapi.Default(false)),

		"CreateKeyRequest.name":       say("A name for people.", "monitoring", openapi.Chars(1, 255)),
		"CreateKeyRequest.instances":  say("The names of the instances that it is for, or `*` alone for all. They are stored by id: an instance created later under the same name is not included.", []string{"*"}),
		"CreateKeyRequest.scopes":     say("What it may do: "+strings.Join(scopes, ", ")+".", []string{"read", "metrics"}),
		"CreateKeyRequest.userId":     say("The user whose batches it opens; required with the scope batch.", exampleUUID, uuid),
		"CreateKeyRequest.recipients": say("Numbers or JIDs that it may write to, 1,000 at most; absent, or `*` alone: all. With recipients, it cannot post a status, mention everyone, change chats, groups and labels, or set the reply to callers.", []string{examplePhone}),
		"CreateKeyRequest.expiresAt":  say("When it expires; absent: never.", exampleTime, openapi.Format("date-time")),
		"CreateKeyRequest.rateLimit":  say("How many requests it may make; absent: unlimited.", nil),

		"ChangeKeyRequest.name":       say("A name for people.", "monitoring", openapi.Chars(1, 255)),
		"ChangeKeyRequest.instances":  say("The names of the instances that it is for, or `*` alone for all.", []string{"*"}),
		"ChangeKeyRequest.recipients": say("Numbers or JIDs that it may write to; `*` alone: all.", []string{examplePhone}),
		"ChangeKeyRequest.expiresAt":  say("When it expires; empty: never.", exampleTime),
		"ChangeKeyRequest.rateLimit":  say("How many requests it may make; a perMinute of 0: unlimited.", nil),
		"KeyRate.perMinute":           say("Requests in any 60 seconds. 0 means unlimited, and is valid in a change only.", 60, openapi.Range(0, 1_000_000)),

		"AgentCall.tool":     say("The tool that was called, `resources/read`, or `unknown` for one that does not exist.", "send_message", openapi.Pattern("^[a-z][a-z0-9_/-]{0,63}$")),
		"AgentCall.outcome":  say("How it ended.", "done", openapi.OneOf("done", "refused", "failed")),
		"AgentCall.instance": say("The instance of the call; recorded only if the key is for that instance.", exampleName, openapi.Chars(0, 255)),

		"listAudit.?actor":       say("Only changes by this actor: the id of a scoped key, `global`, `instance:` and a name, or `user:` and a UUID.", "global", openapi.Chars(1, maxAuditFilter)),
		"listAudit.?action":      say("Only this action, or a prefix up to a dot: `webhook` selects `webhook.change` and others.", "webhook", openapi.Chars(1, maxAuditFilter)),
		"listAudit.?subject":     say("Only changes of this subject: the name of an instance, or an id.", exampleName, openapi.Chars(1, maxAuditFilter)),
		"listAudit.?since":       say("Only changes at this time or later.", exampleTime, openapi.Format("date-time")),
		"listAudit.?until":       say("Only changes before this time.", exampleTime, openapi.Format("date-time")),
		"AuditList.totalRecords": say("How many records the log has; null with a filter.", 120, openapi.AtLeast(0)),

		"AuditRecord.id": say("The number of the record.", 42), "AuditRecord.at": say("When the change was made.", exampleTime),
		"AuditRecord.actor":   say("Who made it: the id of a scoped key, `global`, `instance:` and a name, or `user:` and a UUID.", "global"),
		"AuditRecord.action":  say("What was done.", "instance.create"),
		"AuditRecord.subject": say("What was changed: the name of an instance, or an id; empty for the program itself.", exampleName),
		"AuditRecord.from":    say("The address that the request came from.", "192.0.2.7"),
		"AuditRecord.count":   say("How many changes a record with the action `audit.more` combines; absent in all others.", 40, openapi.AtLeast(1)),

		"?all": say("true: all sessions of the key end; false: the session of the cookie.", false, openapi.Kind("boolean"), openapi.Default(false)),

		"{keyId}":                say("The key's id.", exampleUUID, uuid),
		"csrf":                   say("What the header x-postern-csrf needs.", "0GmX…"),
		"BegunSession.expiresAt": say("When the session expires.", exampleTime), "ShownSession.expiresAt": say("When the credential expires; null: never.", exampleTime, openapi.OrNull()),
		"ShownSession.operator": say("Whether it is the GlobalApiKey, or a session of it.", false), "ShownSession.key": say("The scoped key; null for the operator.", nil),
	}
}

// accessCodes are about keys, sessions and what they may do.
func accessCodes() []Code {
	return []Code{
		{Code: codeScope, Status: http.StatusForbidden, Meaning: "The scoped key is valid, but lacks the scope that the message names, in general or for this instance, or the route accepts no scoped key.", Next: "Use a key with that scope and instance; GET /session shows what a key may do."},
		{Code: codeRecipientNotAllowed, Status: http.StatusForbidden, Meaning: "The scoped key may write only to its own recipients; nothing was sent.", Next: "Add the recipient to the key with PATCH /keys/{id}, or use another key."},
		{Code: codeCSRF, Status: http.StatusForbidden, Meaning: "A request with a session cookie would change something, but lacks the session's x-postern-csrf.", Next: "Send csrf of GET /session in that header; programs should use a key instead of a cookie."},
		{Code: codeRateLimited, Status: http.StatusTooManyRequests, Meaning: "A rate limit was reached: the requests of the scoped key per minute, the sessions started by the address, or the pairing codes requested by a portal link.", RetryAfter: retryLimit, Next: "Wait for Retry-After, or raise the rateLimit of the key."},
		{Code: "PORTAL_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The portal link does not exist, has expired, or the key or token that created it is no longer valid.", Next: "Create another with POST /instance/{i}/portal-link."},
		{Code: "KEY_NOT_FOUND", Status: http.StatusNotFound, Meaning: "There is no scoped key with this id.", Next: "GET /keys lists them."},
		{Code: codeInvalidKeyRule, Status: http.StatusUnprocessableEntity, Meaning: "A scoped key breaks a rule.", Next: "Correct the fields that the messages name."},
	}
}
