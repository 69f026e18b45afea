package instances

import (
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/instance"
)

func settingsDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"PUT /instance/{i}/settings": {
			ID: "setSettings", Summary: "Set the automatic behaviour of the instance.", About: "Settings absent from the body are off.",
			In: rest.TypeOf[instance.Settings](), Example: `{"ignore":{"groups":true,"jids":["120363012345678901@newsletter"]},"rejectCalls":{"enabled":true,"message":"Please write."}}`,
			Out: rest.TypeOf[instance.Settings](), Codes: rest.Codes{"INVALID_ARGUMENT", "INVALID_RECIPIENT", rest.CodeRecipientNotAllowed, "DISK_FULL"},
		},
		"GET /instance/{i}/settings": {ID: "getSettings", Summary: "Show the automatic behaviour of the instance.", Out: rest.TypeOf[instance.Settings]()},
	}
}

// SettingsFields are the fields of an instance's settings.
func SettingsFields() openapi.Fields {
	return openapi.Fields{
		"InstanceSettings.ignore":       rest.Say("Chats to ignore: nothing of them is stored or reported.", nil),
		"InstanceSettings.rejectCalls":  rest.Say("The handling of incoming calls.", nil),
		"InstanceSettings.readMessages": rest.Say("Whether incoming messages are marked as read.", false),
		"InstanceSettings.alwaysOnline": rest.Say("Whether the account is shown as available while it is connected.", false),
		"InstanceSettings.history":      rest.Say("Which history is requested at pairing and stored; it applies to the next pairing.", nil),
		"Ignore.groups":                 rest.Say("All groups.", true),
		"Ignore.status":                 rest.Say("Status posts of contacts.", true),
		"Ignore.newsletters":            rest.Say("All newsletters.", false),
		"Ignore.broadcasts":             rest.Say("Messages to broadcast lists that include the account.", false),
		"Ignore.jids":                   rest.Say("Single chats: people by number, JID or LID, which mean the same person, groups and newsletters by JID.", []any{"120363012345678901@newsletter"}, openapi.Items(0, instance.MaxIgnored)),
		"RejectCalls.enabled":           rest.Say("Whether calls are rejected.", true),
		"RejectCalls.message":           rest.Say("A text for the caller, sent at most once an hour; empty: none.", "Please write.", openapi.Chars(0, event.MaxText)),
		"History.days":                  rest.Say("How many days of history; 0: none.", 30, openapi.Range(0, instance.MaxHistoryDays)),
		"History.groups":                rest.Say("Whether history of groups is stored too.", false),
	}
}
