package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
	"postern/instance"
)

func settingsDescriptions() map[string]description {
	return map[string]description{
		"PUT /instance/{i}/settings": {
			id: "setSettings", summary: "Set what the instance does by itself.", about: "What the body does not name is off.",
			in: body[instance.Settings](), example: `{"ignore":{"groups":true,"jids":["120363012345678901@newsletter"]},"rejectCalls":{"enabled":true,"message":"Please write."}}`,
			out: body[instance.Settings](), codes: codes{"INVALID_ARGUMENT", "INVALID_RECIPIENT", codeRecipientNotAllowed, "DISK_FULL"},
		},
		"GET /instance/{i}/settings": {id: "getSettings", summary: "Show what the instance does by itself.", out: body[instance.Settings]()},
	}
}

// settingsFields are those of what an instance does by itself.
func settingsFields() openapi.Fields {
	return openapi.Fields{
		"InstanceSettings.ignore":       say("Chats of which nothing is stored and nothing is told.", nil),
		"InstanceSettings.rejectCalls":  say("What becomes of incoming calls.", nil),
		"InstanceSettings.readMessages": say("Whether every message that comes in is marked as read.", false),
		"InstanceSettings.alwaysOnline": say("Whether the account is shown as available while it is connected.", false),
		"InstanceSettings.history":      say("What of the time before the pairing is asked for and stored; it counts at the next pairing.", nil),
		"Ignore.groups":                 say("All groups.", true),
		"Ignore.status":                 say("What contacts show as their status.", true),
		"Ignore.newsletters":            say("All newsletters.", false),
		"Ignore.broadcasts":             say("What is sent to a broadcast list that the account is on.", false),
		"Ignore.jids":                   say("Single chats: people by number, JID or LID, which mean the same person, groups and newsletters by JID.", []any{"120363012345678901@newsletter"}, openapi.Items(0, instance.MaxIgnored)),
		"RejectCalls.enabled":           say("Whether calls are rejected.", true),
		"RejectCalls.message":           say("A text for the caller, sent at most once an hour; empty: none is.", "Please write.", openapi.Chars(0, event.MaxText)),
		"History.days":                  say("How many days of it; 0: none.", 30, openapi.Range(0, instance.MaxHistoryDays)),
		"History.groups":                say("Whether that of groups is stored too.", false),
	}
}
