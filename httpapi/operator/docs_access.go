package operator

import (
	"net/http"
	"strings"

	"postern/access"
	"postern/batch"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

func accessDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"POST /keys": {
			ID: "createKey", Summary: "Create a scoped key.", About: "Only this answer has the key's text: the program stores its SHA-256.",
			In:      rest.TypeOf[createKeyRequest](),
			Example: `{"name":"monitoring","instances":["*"],"scopes":["read","metrics"]}`,
			Status:  http.StatusCreated, Out: rest.TypeOf[CreatedKey](), Codes: rest.Codes{rest.CodeInvalidKeyRule, rest.CodeLimitReached, "DISK_FULL"},
		},
		"GET /keys":      {ID: "listKeys", Summary: "List the scoped keys, newest first, including expired ones.", Query: rest.Cursors(), Out: rest.TypeOf[batch.List[KeyView]](), Codes: rest.Codes{rest.CodeNoCursor}},
		"GET /keys/{id}": {ID: "getKey", Summary: "Show a scoped key, and what keeps running when it is deleted.", Out: rest.TypeOf[ShownKey](), Codes: rest.Codes{"KEY_NOT_FOUND"}},
		"PATCH /keys/{id}": {
			ID: "changeKey", Summary: "Change the name, instances, recipients, rate limit or expiry of a scoped key.",
			About: "Its scopes cannot be changed. When the change narrows the key or shortens its life, its WebSockets are closed with 4003.",
			In:    rest.TypeOf[changeKeyRequest](), Example: `{"expiresAt":"2027-01-01T00:00:00Z"}`, Out: rest.TypeOf[KeyView](), Codes: rest.Codes{"KEY_NOT_FOUND", rest.CodeInvalidKeyRule},
		},
		"DELETE /keys/{id}": {
			ID: "deleteKey", Summary: "Revoke a scoped key and close its WebSockets.",
			About: "The answer is the key as it was; `batches` and `webhooks` list what it leaves running. With `stop=true` its unfinished batches are stopped, as by POST /message/batches/{id}/stop, and the webhooks and endpoints that it changed last get `enabled: false`; `stopped` has both. " +
				"When such a call fails half-way, or the program ends, the key is already deleted; repeating the call, or the next start, does the rest.",
			Query: []string{"stop"}, Out: rest.TypeOf[DeletedKey](), Codes: rest.Codes{"KEY_NOT_FOUND", "DISK_FULL"},
		},
		"GET /audit": {
			ID: "listAudit", Summary: "List the audit log, newest first.",
			About: "An actor adds at most 60 records in a minute; its further changes are combined into one record with the action `audit.more` and their number in `count`, written by the end of the minute. A request scans at most 20,000 records: with a filter, a page may have fewer records than its limit, even none, and still a nextCursor. Continue until it is null.",
			Query: rest.Cursors("actor", "action", "subject", "since", "until"), Out: rest.TypeOf[AuditList](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		"POST /session": {
			ID: "beginSession", Summary: "Sign a browser in.",
			About: "The answer sets the cookie postern_session (over https `__Host-postern_session`, with eight hex digits behind it below a base path), which acts for the key for at most twelve hours. Requests with that cookie that change something need csrf in the header x-postern-csrf. " +
				"The session of the GlobalApiKey opens every instance too and, with the UUID of a user in the header x-postern-user, that user's batches. An address can start at most ten sessions a minute.",
			Status: http.StatusCreated, Out: rest.TypeOf[BegunSession](), Codes: rest.Codes{"DISK_FULL", rest.CodeRateLimited},
		},
		"GET /session": {ID: "getSession", Summary: "Show what the key, or the session of the cookie, may do.", Out: rest.TypeOf[ShownSession]()},
		"POST /session/calls": {
			ID: "noteAgentCall", Summary: "Record in the audit log what an agent did with the scoped key.", About: "For programs that serve agents, such as `postern mcp`: 120 calls a minute, and 256 at once. Calls at /mcp are recorded without it.",
			In: rest.TypeOf[agentCall](), Example: `{"tool":"send_message","outcome":"done","instance":"sales"}`, Status: http.StatusNoContent, Codes: rest.Codes{"INVALID_ARGUMENT", "DISK_FULL", rest.CodeScope, rest.CodeRateLimited},
		},
		"DELETE /session": {
			ID: "endSession", Summary: "Sign the browser out, and close the WebSockets of the session.",
			About: "With `all=true` it ends all sessions of the same key; the key itself may do that without a session.",
			Query: []string{"all"}, Status: http.StatusNoContent,
		},
	}
}

func AccessFields() openapi.Fields {
	uuid, scopes := openapi.Format("uuid"), strings.Split(access.Listed(), ", ")
	return openapi.Fields{
		"CreatedKey.key": rest.Say("The key's text, for `Authorization: Bearer` or `apikey`. Only this answer has it.", "pk_1Gh…"),

		"Key.id": rest.Say("The key's id, which is in the log and in the audit log.", rest.ExampleUUID, uuid), "Key.name": rest.Say("A name for people.", "monitoring"),
		"Key.instances":    rest.Say("The names of the instances that it is for, without deleted ones; `*` alone: all, including those created later.", []string{"*"}),
		"Key.scopes":       rest.Say("What it may do: "+strings.Join(scopes, ", ")+".", []string{"read", "metrics"}),
		"Key.userId":       rest.Say("The user whose batches it opens; null for none.", rest.ExampleUUID, uuid, openapi.OrNull()),
		"Key.recipients":   rest.Say("The addresses that it may write to; null: all.", []string{rest.ExampleJID}, openapi.OrNull()),
		"Key.rateLimit":    rest.Say("How many requests it may make; null: unlimited.", nil),
		"Key.expiresAt":    rest.Say("When it expires; null: never.", rest.ExampleTime, openapi.OrNull()),
		"Key.lastUsedAt":   rest.Say("When it was used last; null: never. It may be a minute late after a crash.", rest.ExampleTime, openapi.OrNull()),
		"Key.lastUsedFrom": rest.Say("The address that it was used from.", "192.0.2.7", openapi.OrNull()),

		"KeyRunning.batches":       rest.Say("Unfinished batches that it created or started last, the oldest first, 1,000 at most.", nil),
		"KeyRunning.totalBatches":  rest.Say("How many such batches there are.", 1, openapi.AtLeast(0)),
		"KeyRunning.webhooks":      rest.Say("Enabled webhooks and endpoints that it changed last, 1,000 at most. A PUT of webhook options changes all endpoints that it names, and not the webhook.", nil),
		"KeyRunning.totalWebhooks": rest.Say("How many such webhooks and endpoints there are.", 1, openapi.AtLeast(0)),
		"DeletedKey.stopped":       rest.Say("What was stopped: batches with their current status, webhooks as they were. Absent without `stop`.", nil),
		"KeyBatch.id":              rest.Say("The batch.", rest.ExampleUUID, uuid), "KeyBatch.name": rest.Say("Its name.", "news"), "KeyBatch.status": rest.Say("Its status.", "PROCESSING"),
		"KeyReceiver.instanceId": rest.Say("The instance whose events it receives.", 1), "KeyReceiver.instanceName": rest.Say("The name of that instance.", rest.ExampleName),
		"KeyReceiver.target":     rest.Say("The instance's webhook, or an endpoint of its options.", "webhook", openapi.OneOf("webhook", "endpoint")),
		"KeyReceiver.endpointId": rest.Say("The endpoint's id; absent for the webhook.", "crm"),
		"KeyReceiver.url":        rest.Say("Where it goes, without the query.", "https://example.org/hook"),

		"?stop": rest.Say("true: stop what the key left running.", false, openapi.Kind("boolean"), openapi.Default(false)),

		"CreateKeyRequest.name":       rest.Say("A name for people.", "monitoring", openapi.Chars(1, 255)),
		"CreateKeyRequest.instances":  rest.Say("The names of the instances that it is for, or `*` alone for all. They are stored by id: an instance created later under the same name is not included.", []string{"*"}),
		"CreateKeyRequest.scopes":     rest.Say("What it may do: "+strings.Join(scopes, ", ")+".", []string{"read", "metrics"}),
		"CreateKeyRequest.userId":     rest.Say("The user whose batches it opens; required with the scope batch.", rest.ExampleUUID, uuid),
		"CreateKeyRequest.recipients": rest.Say("Numbers or JIDs that it may write to, 1,000 at most; absent, or `*` alone: all. With recipients, it cannot post a status, mention everyone, change chats, groups and labels, or set the reply to callers.", []string{rest.ExamplePhone}),
		"CreateKeyRequest.expiresAt":  rest.Say("When it expires; absent: never.", rest.ExampleTime, openapi.Format("date-time")),
		"CreateKeyRequest.rateLimit":  rest.Say("How many requests it may make; absent: unlimited.", nil),

		"ChangeKeyRequest.name":       rest.Say("A name for people.", "monitoring", openapi.Chars(1, 255)),
		"ChangeKeyRequest.instances":  rest.Say("The names of the instances that it is for, or `*` alone for all.", []string{"*"}),
		"ChangeKeyRequest.recipients": rest.Say("Numbers or JIDs that it may write to; `*` alone: all.", []string{rest.ExamplePhone}),
		"ChangeKeyRequest.expiresAt":  rest.Say("When it expires; empty: never.", rest.ExampleTime),
		"ChangeKeyRequest.rateLimit":  rest.Say("How many requests it may make; a perMinute of 0: unlimited.", nil),
		"KeyRate.perMinute":           rest.Say("Requests in any 60 seconds. 0 means unlimited, and is valid in a change only.", 60, openapi.Range(0, 1_000_000)),

		"AgentCall.tool":     rest.Say("The tool that was called, `resources/read`, or `unknown` for one that does not exist.", "send_message", openapi.Pattern("^[a-z][a-z0-9_/-]{0,63}$")),
		"AgentCall.outcome":  rest.Say("How it ended.", "done", openapi.OneOf("done", "refused", "failed")),
		"AgentCall.instance": rest.Say("The instance of the call; recorded only if the key is for that instance.", rest.ExampleName, openapi.Chars(0, 255)),

		"listAudit.?actor":       rest.Say("Only changes by this actor: the id of a scoped key, `global`, `instance:` and a name, or `user:` and a UUID.", "global", openapi.Chars(1, maxAuditFilter)),
		"listAudit.?action":      rest.Say("Only this action, or a prefix up to a dot: `webhook` selects `webhook.change` and others.", "webhook", openapi.Chars(1, maxAuditFilter)),
		"listAudit.?subject":     rest.Say("Only changes of this subject: the name of an instance, or an id.", rest.ExampleName, openapi.Chars(1, maxAuditFilter)),
		"listAudit.?since":       rest.Say("Only changes at this time or later.", rest.ExampleTime, openapi.Format("date-time")),
		"listAudit.?until":       rest.Say("Only changes before this time.", rest.ExampleTime, openapi.Format("date-time")),
		"AuditList.totalRecords": rest.Say("How many records the log has; null with a filter.", 120, openapi.AtLeast(0)),

		"AuditRecord.id": rest.Say("The number of the record.", 42), "AuditRecord.at": rest.Say("When the change was made.", rest.ExampleTime),
		"AuditRecord.actor":   rest.Say("Who made it: the id of a scoped key, `global`, `instance:` and a name, or `user:` and a UUID.", "global"),
		"AuditRecord.action":  rest.Say("What was done.", "instance.create"),
		"AuditRecord.subject": rest.Say("What was changed: the name of an instance, or an id; empty for the program itself.", rest.ExampleName),
		"AuditRecord.from":    rest.Say("The address that the request came from.", "192.0.2.7"),
		"AuditRecord.count":   rest.Say("How many changes a record with the action `audit.more` combines; absent in all others.", 40, openapi.AtLeast(1)),

		"?all": rest.Say("true: all sessions of the key end; false: the session of the cookie.", false, openapi.Kind("boolean"), openapi.Default(false)),

		"{keyId}":                rest.Say("The key's id.", rest.ExampleUUID, uuid),
		"csrf":                   rest.Say("What the header x-postern-csrf needs.", "0GmX…"),
		"BegunSession.expiresAt": rest.Say("When the session expires.", rest.ExampleTime), "ShownSession.expiresAt": rest.Say("When the credential expires; null: never.", rest.ExampleTime, openapi.OrNull()),
		"ShownSession.operator": rest.Say("Whether it is the GlobalApiKey, or a session of it.", false), "ShownSession.key": rest.Say("The scoped key; null for the operator.", nil),
	}
}
