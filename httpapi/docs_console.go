package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

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
		all[i].Type = rest.TypeOf[consoleMessage]()
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
		"listSamples.?since":   rest.Say("Only the minutes that began at this time or later.", rest.ExampleTime, openapi.Format("date-time")),
		"SampleList.interval":  rest.Say("Seconds from one sample to the next.", 60),
		"SampleList.backup":    rest.Say("The scheduled backups; null when none are configured.", nil),
		"SampleList.samples":   rest.Say("The samples, oldest first.", nil),
		"BackupState.every":    rest.Say("Seconds from one backup to the next.", 86_400),
		"BackupState.lastAt":   rest.Say("The time of the newest backup; null when there is none.", rest.ExampleTime),
		"BackupState.bytes":    rest.Say("The size of the newest one; null when unknown.", 16_805_888),
		"BackupState.failure":  rest.Say("Why the last attempt failed; null when it did not.", "no space left on device"),
		"BackupState.failedAt": rest.Say("When it failed; null when it did not.", rest.ExampleTime),

		"SettingList.settings":  rest.Say("All settings, in the order of config.toml.example.", nil),
		"SettingList.warnings":  rest.Say("Warnings about the configuration.", []any{}),
		"SettingList.pending":   rest.Say("Settings that were changed since the start and take effect at the next one.", []any{}),
		"ConfigSetting.name":    rest.Say("The path of the setting.", "server.listen"),
		"ConfigSetting.value":   rest.Say("The value in effect, without credentials.", "127.0.0.1:8084"),
		"ConfigSetting.default": rest.Say("The value when the setting is absent; null for a secret that the program generates.", "127.0.0.1:8084"),
		"ConfigSetting.source":  rest.Say("The source of the value: a file, an environment variable, or default.", "environment SERVER_LISTEN"),
		"ConfigSetting.about":   rest.Say("What the setting is for.", "Address to listen on."),

		"ConsoleMessage.type":     rest.Say("The kind of the message.", "instance", openapi.OneOf(names...)),
		"ConsoleMessage.at":       rest.Say("With hello: the server's time.", rest.ExampleTime),
		"ConsoleMessage.name":     rest.Say("With instance and instanceDeleted: the name of the instance.", rest.ExampleName),
		"ConsoleMessage.instance": rest.Say("The instance as GET /instance lists it, without its token.", nil),
		"ConsoleMessage.batch":    rest.Say("The batch as GET /admin/batches lists it.", nil),
		"ConsoleMessage.id":       rest.Say("With batchDeleted: the id of the batch.", rest.ExampleUUID, openapi.Format("uuid")),
		"ConsoleMessage.delivery": rest.Say("The delivery as GET /webhook/deliveries lists it.", nil),
		"ConsoleMessage.changed":  rest.Say("With deliveries: the number of changes of deliveries that were not sent, because there were too many.", 412),
		"ConsoleMessage.figures":  rest.Say("The sample of the current minute, every five seconds.", nil),

		"Sample.at":                   rest.Say("When the minute began.", rest.ExampleTime),
		"Sample.instances":            rest.Say("How many instances are in each state of the connection, at the end of the minute.", openapi.Object{string(event.Online): 3}),
		"Sample.sent":                 rest.Say("Messages that WhatsApp accepted in this minute.", 12, count),
		"Sample.received":             rest.Say("Messages from others received in this minute.", 30, count),
		"Sample.deliveries":           rest.Say("Delivery attempts that a receiver accepted in this minute.", 42, count),
		"Sample.failed":               rest.Say("Delivery attempts that failed in this minute.", 0, count),
		"Sample.oldestPendingSeconds": rest.Say("Age of the oldest event pending delivery; 0 when there is none.", 0, count),
		"Sample.fileBytes":            rest.Say("Size of the data file.", 16_805_888, count),
		"Sample.memoryBytes":          rest.Say("Memory obtained from the system, without the mapped data file.", 52_428_800, count),
	}
}
