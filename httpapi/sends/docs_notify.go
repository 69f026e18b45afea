package sends

import (
	"postern/httpapi/alerts"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

func notifyDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"POST /instance/{i}/notify": {
			ID: "notify", Summary: "Send alerts as a message.", Once: true, In: rest.TypeOf[alerts.Notification](), Query: []string{"to"}, Out: rest.TypeOf[NotifyAnswer](),
			About:   "Sends one text with all alerts that the recipient did not get in the last 24 hours. Alerts with the same status, fingerprint and start are the same alert. A title or message is sent each time, unless it has a fingerprint.",
			Example: `{"alerts":[{"status":"firing","labels":{"alertname":"DiskFull","instance":"db1"},"annotations":{"summary":"4 % are free"},"startsAt":"2026-11-20T09:30:00Z","fingerprint":"c6eadffa33fcdf37"}]}`,
			Codes:   rest.Sending(),
		},
	}
}

// NotifyFields are the fields of posts of monitoring systems.
func NotifyFields() openapi.Fields {
	labels := openapi.Object{"alertname": "DiskFull", "instance": "db1"}
	return openapi.Fields{
		"notify.?to": rest.Say("Who gets the text: a phone number with its country code, or the JID of a person or a group.", rest.ExamplePhone, openapi.Required()),

		"Notification.status":          rest.Say("The status of alerts without their own, and of a title or message with a fingerprint.", "firing"),
		"Notification.alerts":          rest.Say("The alerts of a group.", nil, openapi.Items(0, alerts.MaxAlerts)),
		"Notification.groupLabels":     rest.Say("The labels that the alerts of the group share; they name the group when the alerts have different names.", labels),
		"Notification.truncatedAlerts": rest.Say("How many alerts the sender left out.", 0),
		"Notification.title":           rest.Say("A title, where there are no alerts.", "Backup"),
		"Notification.message":         rest.Say("A message, where there are no alerts.", "The backup of tonight failed."),
		"Notification.msg":             rest.Say("The message, as Uptime Kuma calls it.", "[Shop] [🔴 Down] timeout"),
		"Notification.fingerprint":     rest.Say("Identifies a title or message: with a fingerprint, it is sent once in 24 hours.", "backup-2026-11-20"),
		"Notification.startsAt":        rest.Say("When it began.", rest.ExampleTime),
		"Alert.status":                 rest.Say("firing or resolved; anything else counts as firing.", "firing"),
		"Alert.labels":                 rest.Say("What it is about. alertname is its name; severity is shown first.", labels),
		"Alert.annotations":            rest.Say("Words for people: summary, description and runbook_url are shown.", openapi.Object{"summary": "4 % are free"}),
		"Alert.startsAt":               rest.Say("When it began.", rest.ExampleTime),
		"Alert.endsAt":                 rest.Say("When a resolved alert ended.", rest.ExampleTime),
		"Alert.fingerprint":            rest.Say("Identifies the alert; absent: its labels identify it.", "c6eadffa33fcdf37"),
		"Alert.generatorURL":           rest.Say("Its source: shown when there is no better link and it is the only alert.", "https://prometheus.example.org/graph"),
		"Alert.dashboardURL":           rest.Say("Its dashboard.", "https://grafana.example.org/d/1"),
		"Alert.panelURL":               rest.Say("Its panel.", "https://grafana.example.org/d/1?viewPanel=2"),
		"NotifyAnswer.sent":            rest.Say("The number of alerts in the text; 0: no text was sent.", 1),
		"NotifyAnswer.suppressed":      rest.Say("The number of alerts already sent before.", 0),
		"NotifyAnswer.unknown":         rest.Say("How many of those have an unknown outcome: they may not have arrived.", 0),
	}
}
