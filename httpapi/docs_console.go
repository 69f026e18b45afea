package httpapi

import (
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
	}
}

func consoleFields() openapi.Fields {
	count := openapi.AtLeast(0)
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
