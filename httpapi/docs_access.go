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
			id: "createKey", summary: "Make a scoped key.", about: "This answer is the only one with the key's text: kept is its SHA-256.",
			in:      body[createKeyRequest](),
			example: `{"name":"monitoring","instances":["*"],"scopes":["read","metrics"]}`,
			status:  http.StatusCreated, out: body[createdKey](), codes: codes{codeInvalidKeyRule, codeLimitReached, "DISK_FULL"},
		},
		"GET /keys":      {id: "listKeys", summary: "List the scoped keys, the newest first, with those that expired.", query: cursors(), out: body[batch.List[keyView]](), codes: codes{codeNoCursor}},
		"GET /keys/{id}": {id: "getKey", summary: "Show a scoped key, and what goes on when it is deleted.", out: body[shownKey](), codes: codes{"KEY_NOT_FOUND"}},
		"PATCH /keys/{id}": {
			id: "changeKey", summary: "Change the name of a scoped key, what it is for, or how long it lasts.",
			about: "Its scopes stay as they are. A key that may less than before, or for a shorter time, loses its WebSockets, with 4003.",
			in:    body[changeKeyRequest](), example: `{"expiresAt":"2027-01-01T00:00:00Z"}`, out: body[keyView](), codes: codes{"KEY_NOT_FOUND", codeInvalidKeyRule},
		},
		"DELETE /keys/{id}": {
			id: "deleteKey", summary: "Make a scoped key worth nothing, and end its WebSockets.",
			about: "The answer is the key as it was, with what it leaves running in `batches` and `webhooks`. With `stop=true` its unfinished batches are stopped, as by POST /message/batches/{id}/stop, and the webhooks and endpoints that it changed last get `enabled: false`; `stopped` has both. " +
				"When such a call fails half-way, or the program ends, the key is deleted: the same call goes on with the rest, and so does the next start.",
			query: []string{"stop"}, out: body[deletedKey](), codes: codes{"KEY_NOT_FOUND", "DISK_FULL"},
		},
		"GET /audit": {
			id: "listAudit", summary: "List what was changed by whom, the newest first.",
			about: "An actor leaves at most 60 records in a minute; its further changes are one record with the action `audit.more` and their number in `count`, written by the end of the minute. One request looks at 20,000 records at most: with a filter, a page may have fewer records than its limit, even none, and a nextCursor all the same. Go on until that is null.",
			query: cursors("actor", "action", "subject", "since", "until"), out: body[auditList](), codes: codes{codeNoCursor},
		},
		"POST /session": {
			id: "beginSession", summary: "Sign a browser in.",
			about: "The answer sets the cookie postern_session (over https `__Host-postern_session`, with eight hex digits behind it below a base path), which stands for the key for twelve hours at most. What changes something with that cookie needs csrf in the header x-postern-csrf. " +
				"The session of the GlobalApiKey opens every instance too and, with the UUID of a user in the header x-postern-user, that user's batches. One address begins ten sessions a minute at most.",
			status: http.StatusCreated, out: body[begunSession](), codes: codes{"DISK_FULL", codeRateLimited},
		},
		"GET /session": {id: "getSession", summary: "What the key, or the session of the cookie, may do.", out: body[shownSession]()},
		"POST /session/calls": {
			id: "noteAgentCall", summary: "Note in the audit log what an agent did with the scoped key.", about: "For programs that serve agents, such as `postern mcp`: 120 calls a minute, and 256 at once. What an agent does at /mcp is noted without it.",
			in: body[agentCall](), example: `{"tool":"send_message","outcome":"done","instance":"sales"}`, status: http.StatusNoContent, codes: codes{"INVALID_ARGUMENT", "DISK_FULL", codeScope, codeRateLimited},
		},
		"DELETE /session": {
			id: "endSession", summary: "Sign the browser out, and end the WebSockets of the session.",
			about: "With `all=true` it ends all sessions of the same key; the key itself may do that without a session.",
			query: []string{"all"}, status: http.StatusNoContent,
		},
	}
}

func accessFields() openapi.Fields {
	uuid, scopes := openapi.Format("uuid"), strings.Split(access.Listed(), ", ")
	return openapi.Fields{
		"CreatedKey.key": say("The key's text, for `Authorization: Bearer` or `apikey`. It is told here and nowhere else.", "pk_1Gh…"),

		"Key.id": say("The key's id, which is in the log and in the audit log.", exampleUUID, uuid), "Key.name": say("What people call it.", "monitoring"),
		"Key.instances":    say("The names of the instances that it is for, without those that were deleted; `*` alone: all, those made later too.", []string{"*"}),
		"Key.scopes":       say("What it may do: "+strings.Join(scopes, ", ")+".", []string{"read", "metrics"}),
		"Key.userId":       say("The user whose batches it opens; null for none.", exampleUUID, uuid, openapi.OrNull()),
		"Key.recipients":   say("The addresses that it may write to; null: all.", []string{exampleJID}, openapi.OrNull()),
		"Key.rateLimit":    say("How many requests it may make; null: no limit.", nil),
		"Key.expiresAt":    say("When it ends; null: never.", exampleTime, openapi.OrNull()),
		"Key.lastUsedAt":   say("When it was used last; null: never. It may be a minute late after a crash.", exampleTime, openapi.OrNull()),
		"Key.lastUsedFrom": say("The address that it was used from.", "192.0.2.7", openapi.OrNull()),

		"KeyRunning.batches":       say("Unfinished batches that it created or started last, the oldest first, 1,000 at most.", nil),
		"KeyRunning.totalBatches":  say("How many such batches there are.", 1, openapi.AtLeast(0)),
		"KeyRunning.webhooks":      say("Enabled webhooks and endpoints that it changed last, 1,000 at most. A PUT of webhook options changes all endpoints that it names, and not the webhook.", nil),
		"KeyRunning.totalWebhooks": say("How many such webhooks and endpoints there are.", 1, openapi.AtLeast(0)),
		"DeletedKey.stopped":       say("What was stopped: batches with their status by now, webhooks as they were. Left out without `stop`.", nil),
		"KeyBatch.id":              say("The batch.", exampleUUID, uuid), "KeyBatch.name": say("Its name.", "news"), "KeyBatch.status": say("Its status.", "PROCESSING"),
		"KeyReceiver.instanceId": say("The instance whose events it receives.", 1), "KeyReceiver.instanceName": say("The name of that instance.", exampleName),
		"KeyReceiver.target":     say("The instance's webhook, or an endpoint of its options.", "webhook", openapi.OneOf("webhook", "endpoint")),
		"KeyReceiver.endpointId": say("The endpoint's id; left out for the webhook.", "crm"),
		"KeyReceiver.url":        say("Where it goes, without the query.", "https://example.org/hook"),

		"?stop": say("true: what the key left running is stopped.", false, openapi.Kind("boolean"), openapi.Default(false)),

		"CreateKeyRequest.name":       say("What people call it.", "monitoring", openapi.Chars(1, 255)),
		"CreateKeyRequest.instances":  say("The names of the instances that it is for, or `*` alone for all. An instance is meant by its id: one that is made anew under the same name later is another.", []string{"*"}),
		"CreateKeyRequest.scopes":     say("What it may do: "+strings.Join(scopes, ", ")+".", []string{"read", "metrics"}),
		"CreateKeyRequest.userId":     say("The user whose batches it opens; required with the scope batch.", exampleUUID, uuid),
		"CreateKeyRequest.recipients": say("Numbers or JIDs that it may write to, 1,000 at most; absent, or `*` alone: all. With recipients, it cannot write a status or mention everybody, nor change chats, groups and labels, nor set what callers are answered.", []string{examplePhone}),
		"CreateKeyRequest.expiresAt":  say("When it ends; absent: never.", exampleTime, openapi.Format("date-time")),
		"CreateKeyRequest.rateLimit":  say("How many requests it may make; absent: no limit.", nil),

		"ChangeKeyRequest.name":       say("What people call it.", "monitoring", openapi.Chars(1, 255)),
		"ChangeKeyRequest.instances":  say("The names of the instances that it is for, or `*` alone for all.", []string{"*"}),
		"ChangeKeyRequest.recipients": say("Numbers or JIDs that it may write to; `*` alone: all.", []string{examplePhone}),
		"ChangeKeyRequest.expiresAt":  say("When it ends; empty: never.", exampleTime),
		"ChangeKeyRequest.rateLimit":  say("How many requests it may make; a perMinute of 0: no limit.", nil),
		"KeyRate.perMinute":           say("Requests in any 60 seconds. 0, in a change only, is no limit.", 60, openapi.Range(0, 1_000_000)),

		"AgentCall.tool":     say("The tool that was called, `resources/read`, or `unknown` for one that does not exist.", "send_message", openapi.Pattern("^[a-z][a-z0-9_/-]{0,63}$")),
		"AgentCall.outcome":  say("How it ended.", "done", openapi.OneOf("done", "refused", "failed")),
		"AgentCall.instance": say("The instance that it was about; the log has it if the key is for that instance.", exampleName, openapi.Chars(0, 255)),

		"listAudit.?actor":       say("Only what this one did: the id of a scoped key, `global`, `instance:` and a name, or `user:` and a UUID.", "global", openapi.Chars(1, maxAuditFilter)),
		"listAudit.?action":      say("Only this action, or all that begin with it and a dot: `webhook` for `webhook.change` and others.", "webhook", openapi.Chars(1, maxAuditFilter)),
		"listAudit.?subject":     say("Only what was done to this: the name of an instance, or an id.", exampleName, openapi.Chars(1, maxAuditFilter)),
		"listAudit.?since":       say("Only what was done at this time or later.", exampleTime, openapi.Format("date-time")),
		"listAudit.?until":       say("Only what was done before this time.", exampleTime, openapi.Format("date-time")),
		"AuditList.totalRecords": say("How many records the log has; null with a filter.", 120, openapi.AtLeast(0)),

		"AuditRecord.id": say("The number of the record.", 42), "AuditRecord.at": say("When the change was made.", exampleTime),
		"AuditRecord.actor":   say("Who made it: the id of a scoped key, `global`, `instance:` and a name, or `user:` and a UUID.", "global"),
		"AuditRecord.action":  say("What was done.", "instance.create"),
		"AuditRecord.subject": say("To what: the name of an instance, or an id; empty for the program itself.", exampleName),
		"AuditRecord.from":    say("The address that the request came from.", "192.0.2.7"),
		"AuditRecord.count":   say("How many changes a record with the action `audit.more` stands for; left out in all others.", 40, openapi.AtLeast(1)),

		"?all": say("true: all sessions of the key end; false: the session of the cookie.", false, openapi.Kind("boolean"), openapi.Default(false)),

		"{keyId}":                say("The key's id.", exampleUUID, uuid),
		"csrf":                   say("What the header x-postern-csrf needs.", "0GmX…"),
		"BegunSession.expiresAt": say("When the session ends.", exampleTime), "ShownSession.expiresAt": say("When the credential ends; null: never.", exampleTime, openapi.OrNull()),
		"ShownSession.operator": say("Whether it is the GlobalApiKey, or stands for it.", false), "ShownSession.key": say("The scoped key; null for the operator.", nil),
	}
}

// accessCodes are about keys, sessions and what they may do.
func accessCodes() []Code {
	return []Code{
		{Code: codeScope, Status: http.StatusForbidden, Meaning: "The scoped key is good, but not for this: it lacks the scope that the message names, in all or for this instance, or no scoped key opens the route.", Next: "Use a key with that scope and instance; GET /session tells what a key may do."},
		{Code: codeRecipientNotAllowed, Status: http.StatusForbidden, Meaning: "The scoped key may write to its own recipients only; nothing was sent.", Next: "Add the recipient to the key with PATCH /keys/{id}, or use another key."},
		{Code: codeCSRF, Status: http.StatusForbidden, Meaning: "A request with the cookie of a session would change something and does not have its x-postern-csrf.", Next: "Send csrf of GET /session in that header; programs use a key and no cookie."},
		{Code: codeRateLimited, Status: http.StatusTooManyRequests, Meaning: "The scoped key has made as many requests within a minute as it may, the address has begun as many sessions as it may, or a portal link has asked for as many pairing codes as it may.", RetryAfter: retryLimit, Next: "Wait as long as Retry-After says, or give the key another rateLimit."},
		{Code: "PORTAL_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The portal link is over, or never was: its time has come, or what made it is worth nothing any more.", Next: "Make another with POST /instance/{i}/portal-link."},
		{Code: "KEY_NOT_FOUND", Status: http.StatusNotFound, Meaning: "There is no scoped key with this id.", Next: "GET /keys lists them."},
		{Code: codeInvalidKeyRule, Status: http.StatusUnprocessableEntity, Meaning: "A scoped key breaks a rule.", Next: "Correct the fields that the messages name."},
	}
}
