package httpapi

import (
	"net/http"

	"postern/event"
	"postern/httpapi/openapi"
)

// consoleDescriptions describe the routes of the operator console.
func consoleDescriptions() map[string]description {
	return map[string]description{
		"GET /admin/samples": {
			id: "listSamples", summary: "List samples of the program, one per minute of the last day.",
			about: "They are kept in memory and lost on restart. Minutes may be missing when the machine slept or its clock was changed. The last sample is the current minute.",
			query: []string{"since"}, out: body[sampleList](),
		},
		"GET /admin/config": {
			id: "getConfig", summary: "Show the configuration in effect, each setting with its source.",
			about: "Secrets are masked, and URLs are shown with scheme, host and port only.",
			out:   body[SettingList](),
		},
		"GET /admin/support": {
			id: "makeSupportBundle", summary: "Get a redacted support bundle, as a zip file of plain text.",
			about: "The same file as `postern support` writes. The answer takes some ten seconds, because it has two readings of the metrics. Only one bundle is written at a time.",
			media: mediaZip, codes: codes{codeNotFound, codeSupport},
		},
		"GET /ws/console": {
			id: "openConsole", summary: "Open a WebSocket with the changes that an operator console shows.",
			about: "Each message is one JSON object; `hello` is the first. A client that connects or reconnects loads the current state from the other routes after `hello`, " +
				"then applies the messages. A row is sent in its current state, at most five times a second; changes in between are combined.",
			status: http.StatusSwitchingProtocols, out: body[consoleMessage](), codes: codes{"ORIGIN_REFUSED", codeUpgradeRequired, codeInvalidSubscription, codeInvalidQuery, codeLimitReached},
		},
	}
}

// consoleMessages are the kinds of messages on /ws/console.
func consoleMessages() []openapi.Message {
	all := []openapi.Message{
		{Name: "hello", About: "The first message, with the server's time.", Fields: []string{"at"}},
		{Name: "instance", About: "An instance was created or changed.", Fields: []string{"name", "instance"}},
		{Name: "instanceDeleted", About: "An instance was deleted.", Fields: []string{"name"}},
		{Name: "batch", About: "A batch was created or changed.", Fields: []string{"batch"}},
		{Name: "batchDeleted", About: "Its owner deleted the batch.", Fields: []string{"id"}},
		{Name: "delivery", About: "A delivery was created or changed.", Fields: []string{"delivery"}},
		{Name: "deliveries", About: "Too many deliveries changed to send each of them.", Fields: []string{"changed"}},
		{Name: "figures", About: "The current minute, every five seconds.", Fields: []string{"figures"}},
	}
	for i := range all {
		all[i].Type = body[consoleMessage]()
	}
	return all
}

func consoleFields() openapi.Fields {
	count := openapi.AtLeast(0)
	var names []string
	for _, m := range consoleMessages() {
		names = append(names, m.Name)
	}
	return openapi.Fields{
		"listSamples.?since":   say("Only the minutes that began at this time or later.", exampleTime, openapi.Format("date-time")),
		"SampleList.interval":  say("Seconds from one sample to the next.", 60),
		"SampleList.backup":    say("The scheduled backups; null when none are configured.", nil),
		"SampleList.samples":   say("The samples, oldest first.", nil),
		"BackupState.every":    say("Seconds from one backup to the next.", 86_400),
		"BackupState.lastAt":   say("The time of the newest backup; null when there is none.", exampleTime),
		"BackupState.bytes":    say("The size of the newest one; null when unknown.", 16_805_888),
		"BackupState.failure":  say("Why the last attempt failed; null when it did not.", "no space left on device"),
		"BackupState.failedAt": say("When it failed; null when it did not.", exampleTime),

		"SettingList.settings":  say("All settings, in the order of config.toml.example.", nil),
		"SettingList.warnings":  say("Warnings about the configuration.", []any{}),
		"SettingList.pending":   say("Settings that were changed since the start and take effect at the next one.", []any{}),
		"ConfigSetting.name":    say("The path of the setting.", "server.listen"),
		"ConfigSetting.value":   say("The value in effect, without credentials.", "127.0.0.1:8084"),
		"ConfigSetting.default": say("The value when the setting is absent; null for a secret that the program generates.", "127.0.0.1:8084"),
		"ConfigSetting.source":  say("The source of the value: a file, an environment variable, or default.", "environment SERVER_LISTEN"),
		"ConfigSetting.about":   say("What the setting is for.", "Address to listen on."),

		"ConsoleMessage.type":     say("The kind of the message.", "instance", openapi.OneOf(names...)),
		"ConsoleMessage.at":       say("With hello: the server's time.", exampleTime),
		"ConsoleMessage.name":     say("With instance and instanceDeleted: the name of the instance.", exampleName),
		"ConsoleMessage.instance": say("The instance as GET /instance lists it, without its token.", nil),
		"ConsoleMessage.batch":    say("The batch as GET /admin/batches lists it.", nil),
		"ConsoleMessage.id":       say("With batchDeleted: the id of the batch.", exampleUUID, openapi.Format("uuid")),
		"ConsoleMessage.delivery": say("The delivery as GET /webhook/deliveries lists it.", nil),
		"ConsoleMessage.changed":  say("With deliveries: the number of changes of deliveries that were not sent, because there were too many.", 412),
		"ConsoleMessage.figures":  say("The sample of the current minute, every five seconds.", nil),

		"Sample.at":                   say("When the minute began.", exampleTime),
		"Sample.instances":            say("How many instances are in each state of the connection, at the end of the minute.", object{string(event.Online): 3}),
		"Sample.sent":                 say("Messages that WhatsApp accepted in this minute.", 12, count),
		"Sample.received":             say("Messages from others received in this minute.", 30, count),
		"Sample.deliveries":           say("Delivery attempts that a receiver accepted in this minute.", 42, count),
		"Sample.failed":               say("Delivery attempts that failed in this minute.", 0, count),
		"Sample.oldestPendingSeconds": say("Age of the oldest event pending delivery; 0 when there is none.", 0, count),
		"Sample.fileBytes":            say("Size of the data file.", 16_805_888, count),
		"Sample.memoryBytes":          say("Memory obtained from the system, without the mapped data file.", 52_428_800, count),
	}
}
