package operator

import (
	"postern/access"
	"postern/console/trouble"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// Fields describes parameters, and the fields of bodies that need more than their tags: a constant or a long text.
func Fields() openapi.Fields {
	scopes := "What it may do: " + access.Listed() + "."
	return openapi.Fields{
		"CreatedKey.key": rest.Say("The key's text, for `Authorization: Bearer` or `apikey`. Only this answer has it.", "pk_1Gh…"),

		"Key.instances": rest.Say("The names of the instances that it is for, without deleted ones; `*` alone: all, including those created later.", []string{"*"}),
		"Key.scopes":    rest.Say(scopes, []string{"read", "metrics"}),

		"KeyRunning.webhooks": rest.Say("Enabled webhooks and endpoints that it changed last, 1,000 at most. A PUT of webhook options changes all endpoints that it names, and not the webhook.", nil),
		"DeletedKey.stopped":  rest.Say("What was stopped: batches with their current status, webhooks and scheduled sends as they were. Absent without `stop`.", nil),

		"?stop": rest.Say("true: stop what the key left running.", false, openapi.Kind("boolean"), openapi.Default(false)),

		"CreateKeyRequest.instances":  rest.Say("The names of the instances that it is for, or `*` alone for all. They are stored by id: an instance created later under the same name is not included.", []string{"*"}),
		"CreateKeyRequest.scopes":     rest.Say(scopes, []string{"read", "metrics"}),
		"CreateKeyRequest.recipients": rest.Say("Numbers or JIDs that it may write to, 1,000 at most; absent, or `*` alone: all. With recipients, it cannot post a status, mention everyone, change chats, groups and labels, or set the reply to callers.", []string{rest.ExamplePhone}),

		"ChangeKeyRequest.instances":  rest.Say("The names of the instances that it is for, or `*` alone for all.", []string{"*"}),
		"ChangeKeyRequest.recipients": rest.Say("Numbers or JIDs that it may write to; `*` alone: all.", []string{rest.ExamplePhone}),

		"AgentCall.tool": rest.Say("The tool that was called, `resources/read`, or `unknown` for one that does not exist.", "send_message", openapi.Pattern("^[a-z][a-z0-9_/-]{0,63}$")),

		"listAudit.?actor":   rest.Say("Only changes by this actor: the id of a scoped key, `global`, `instance:` and a name, or `user:` and a UUID.", "global", openapi.Chars(1, maxAuditFilter)),
		"listAudit.?action":  rest.Say("Only this action, or a prefix up to a dot: `webhook` selects `webhook.change` and others.", "webhook", openapi.Chars(1, maxAuditFilter)),
		"listAudit.?subject": rest.Say("Only changes of this subject: the name of an instance, or an id.", rest.ExampleName, openapi.Chars(1, maxAuditFilter)),
		"listAudit.?since":   rest.Say("Only changes at this time or later.", rest.ExampleTime, openapi.Format("date-time")),
		"listAudit.?until":   rest.Say("Only changes before this time.", rest.ExampleTime, openapi.Format("date-time")),

		"AuditRecord.actor": rest.Say("Who made it: the id of a scoped key, `global`, `instance:` and a name, or `user:` and a UUID.", "global"),
		"AuditRecord.count": rest.Say("How many changes a record with the action `audit.more` combines; absent in all others.", 40, openapi.AtLeast(1)),

		"Trouble.kind":            rest.Say("What is wrong.", string(trouble.InstanceLoggedOut), openapi.OneOf(trouble.Kinds()...)),
		"Trouble.severity":        rest.Say("The worst of its subjects.", string(trouble.Broken), openapi.OneOf(trouble.Severities()...)),
		"TroubleSubject.type":     rest.Say("What it is.", string(trouble.Instance), openapi.OneOf(trouble.Instance, trouble.Receiver, trouble.Batch, trouble.Program)),
		"TroubleSubject.severity": rest.Say("How bad it is.", string(trouble.Broken), openapi.OneOf(trouble.Severities()...)),

		"?all": rest.Say("true: all sessions of the key end; false: the session of the cookie.", false, openapi.Kind("boolean"), openapi.Default(false)),

		"{keyId}": rest.Say("The key's id.", rest.ExampleUUID, openapi.Format("uuid")),
		"csrf":    rest.Say("What the header x-postern-csrf needs.", "0GmX…"),

		"?debug":            rest.Say("1: as readable text instead of the pprof format.", "1", openapi.OneOf("1")),
		"LogChange.minutes": rest.Say("The duration in minutes; null or absent: 15.", 10, openapi.Range(1, maxLogMinutes)),

		"UserTokenRequest.expiresIn": rest.Say("How long the token is valid, in seconds.", 86_400, UserTokenLife().Schema()),

		"listSamples.?interval": rest.Say("Seconds of a sample: 60 for minutes, 3600 for hours.", 60, openapi.Kind("integer"), openapi.Object{"enum": []int{60, 3600}, "default": 60}),
		"listSamples.?since":    rest.Say("Only the minutes or hours that began at this time or later.", rest.ExampleTime, openapi.Format("date-time")),
		"Sample.instances":      rest.Say("How many instances are in each state of the connection, at the end of the minute.", openapi.Object{string(event.Online): 3}),
		"?seconds":              rest.Say("The duration of the profile, in seconds.", ProfileSeconds, openapi.Kind("integer"), openapi.Range(1, MaxProfileSeconds), openapi.Default(ProfileSeconds)),
	}
}

// Unique returns the texts without repetitions, in the order in which they came first.
func Unique(all []string) (each []string) {
	seen := map[string]bool{}
	for _, s := range all {
		if !seen[s] {
			seen[s] = true
			each = append(each, s)
		}
	}
	return each
}
