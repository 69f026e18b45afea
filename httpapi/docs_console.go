package httpapi

import (
	"net/http"

	"postern/event"
	"postern/httpapi/openapi"
)

// consoleDescriptions are the routes that a console for operators lives on.
func consoleDescriptions() map[string]description {
	return map[string]description{
		"GET /admin/samples": {
			id: "listSamples", summary: "How the program stood in each minute of the last day.",
			about: "They are kept in memory: a start begins anew. A minute may be missing, when the machine slept or its clock was set. The last sample is that of the running minute.",
			query: []string{"since"}, out: body[sampleList](),
		},
		"GET /admin/config": {
			id: "getConfig", summary: "The configuration in force, each setting with where it comes from.",
			about: "No secret is in it: values that are secrets are masked, and of URLs only scheme, host and port are shown.",
			out:   body[SettingList](),
		},
		"GET /admin/support": {
			id: "makeSupportBundle", summary: "What somebody needs who is to help, as a zip file of plain text without secrets.",
			about: "It is what `postern support` writes. The answer comes when all is gathered, after some ten seconds: it has the metrics twice. One is made at a time.",
			media: mediaZip, codes: codes{codeNotFound, codeSupport},
		},
		"GET /ws/console": {
			id: "openConsole", summary: "A WebSocket that tells what changes, for a page of operators.",
			about: "Each message is one JSON object; `hello` is the first. Whoever comes, or comes back after the connection ended, loads how things are by the other routes after it, " +
				"and goes on with what is told. A row is told as it is when it is sent, at most five times a second: what changed more often in between is told once.",
			status: http.StatusSwitchingProtocols, out: body[consoleMessage](), codes: codes{"ORIGIN_REFUSED", codeUpgradeRequired, codeInvalidSubscription, codeInvalidQuery, codeLimitReached},
		},
	}
}

// consoleMessages are all kinds of what /ws/console tells.
func consoleMessages() []openapi.Message {
	all := []openapi.Message{
		{Name: "hello", About: "The first message, with the time here.", Fields: []string{"at"}},
		{Name: "instance", About: "An instance is new, or its row another one.", Fields: []string{"name", "instance"}},
		{Name: "instanceDeleted", About: "There is no such instance any more.", Fields: []string{"name"}},
		{Name: "batch", About: "A batch is new, or its row another one.", Fields: []string{"batch"}},
		{Name: "batchDeleted", About: "Its owner deleted the batch.", Fields: []string{"id"}},
		{Name: "delivery", About: "A delivery is new, or its row another one.", Fields: []string{"delivery"}},
		{Name: "deliveries", About: "So many deliveries changed that they are not told one by one.", Fields: []string{"changed"}},
		{Name: "figures", About: "The running minute, every five seconds.", Fields: []string{"figures"}},
	}
	for i := range all {
		all[i].Type = body[consoleMessage]()
	}
	return all
}

func consoleFields() openapi.Fields {
	count := openapi.AtLeast(0)
	var told []string
	for _, m := range consoleMessages() {
		told = append(told, m.Name)
	}
	return openapi.Fields{
		"listSamples.?since":   say("Only the minutes that began at this time or later.", exampleTime, openapi.Format("date-time")),
		"SampleList.interval":  say("Seconds from one sample to the next.", 60),
		"SampleList.backup":    say("The backups that the program makes by itself; null when it makes none.", nil),
		"SampleList.samples":   say("The samples, the oldest first.", nil),
		"BackupState.every":    say("Seconds from one backup to the next.", 86_400),
		"BackupState.lastAt":   say("Of when the newest backup is; null when there is none.", exampleTime),
		"BackupState.bytes":    say("The size of the newest one; null when it is not known.", 16_805_888),
		"BackupState.failure":  say("Why the last attempt failed; null when it did not.", "no space left on device"),
		"BackupState.failedAt": say("When it did; null when it did not.", exampleTime),

		"SettingList.settings":  say("All settings, in the order of config.toml.example.", nil),
		"SettingList.warnings":  say("What is worth a warning about the configuration.", []any{}),
		"SettingList.pending":   say("Settings that were changed since the start, and count from the next start on.", []any{}),
		"ConfigSetting.name":    say("The path of the setting.", "server.listen"),
		"ConfigSetting.value":   say("The value in force, without what may be a credential.", "127.0.0.1:8084"),
		"ConfigSetting.default": say("The value when nothing is set; null of a secret that the program makes.", "127.0.0.1:8084"),
		"ConfigSetting.source":  say("Where the value came from: a file, a variable of the environment, or default.", "environment SERVER_LISTEN"),
		"ConfigSetting.about":   say("What the setting is for.", "Address to listen on."),

		"ConsoleMessage.type":     say("What is told.", "instance", openapi.OneOf(told...)),
		"ConsoleMessage.at":       say("With hello: the time here.", exampleTime),
		"ConsoleMessage.name":     say("With instance and instanceDeleted: the name of the instance.", exampleName),
		"ConsoleMessage.instance": say("The instance as GET /instance lists it, its token aside.", nil),
		"ConsoleMessage.batch":    say("The batch as GET /admin/batches lists it.", nil),
		"ConsoleMessage.id":       say("With batchDeleted: the id of the batch.", exampleUUID, openapi.Format("uuid")),
		"ConsoleMessage.delivery": say("The delivery as GET /webhook/deliveries lists it.", nil),
		"ConsoleMessage.changed":  say("With deliveries: how often deliveries changed that are not told one by one, because there were too many.", 412),
		"ConsoleMessage.figures":  say("The sample of the running minute, every five seconds.", nil),

		"Sample.at":                   say("When the minute began.", exampleTime),
		"Sample.instances":            say("How many instances are in each state of the connection, at the end of the minute.", object{string(event.Online): 3}),
		"Sample.sent":                 say("Messages that WhatsApp took in this minute.", 12, count),
		"Sample.received":             say("Messages of others that came in this minute.", 30, count),
		"Sample.deliveries":           say("Attempts to deliver an event that a receiver accepted in this minute.", 42, count),
		"Sample.failed":               say("Attempts to deliver an event that were not accepted in this minute.", 0, count),
		"Sample.oldestPendingSeconds": say("Age of the oldest event that waits to be delivered; 0 when none does.", 0, count),
		"Sample.fileBytes":            say("Size of the data file.", 16_805_888, count),
		"Sample.memoryBytes":          say("Memory that the program has of the system, what it reads of the data file aside.", 52_428_800, count),
	}
}
