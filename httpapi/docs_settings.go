package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
	"postern/instance"
)

func settingsDescriptions() map[string]description {
	return map[string]description{
		"PUT /instance/{i}/settings": {
			id: "setSettings", summary: "Set the automatic behaviour of the instance.", about: "Settings absent from the body are off.",
			in: body[instance.Settings](), example: `{"ignore":{"groups":true,"jids":["120363012345678901@newsletter"]},"rejectCalls":{"enabled":true,"message":"Please write."}}`,
			out: body[instance.Settings](), codes: codes{"INVALID_ARGUMENT", "INVALID_RECIPIENT", codeRecipientNotAllowed, "DISK_FULL"},
		},
		"GET /instance/{i}/settings": {id: "getSettings", summary: "Show the automatic behaviour of the instance.", out: body[instance.Settings]()},
	}
}

// settingsFields are the fields of an instance's settings.
func settingsFields() openapi.Fields {
	return openapi.Fields{
		"InstanceSettings.ignore":       say("Chats to ignore: nothing of them is stored or reported.", nil),
		"InstanceSettings.rejectCalls":  say("The handling of incoming calls.", nil),
		"InstanceSettings.readMessages": say("Whether incoming messages are marked as read.", false),
		"InstanceSettings.alwaysOnline": say("Whether the account is shown as available while it is connected.", false),
		"InstanceSettings.history":      say("Which history is requested at pairing and stored; it applies to the next pairing.", nil),
		"Ignore.groups":                 say("All groups.", true),
		"Ignore.status":                 say("Status posts of contacts.", true),
		"Ignore.newsletters":            say("All newsletters.", false),
		"Ignore.broadcasts":             say("Messages to broadcast lists that include the account.", false),
		"Ignore.jids":                   say("Single chats: people by number, JID or LID, which mean the same person, groups and newsletters by JID.", []any{"120363012345678901@newsletter"}, openapi.Items(0, instance.MaxIgnored)),
		"RejectCalls.enabled":           say("Whether calls are rejected.", true),
		"RejectCalls.message":           say("A text for the caller, sent at most once an hour; empty: none.", "Please write.", openapi.Chars(0, event.MaxText)),
		"History.days":                  say("How many days of history; 0: none.", 30, openapi.Range(0, instance.MaxHistoryDays)),
		"History.groups":                say("Whether history of groups is stored too.", false),
	}
}
