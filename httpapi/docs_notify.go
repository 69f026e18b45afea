package httpapi

import (
	"postern/httpapi/alerts"
	"postern/httpapi/openapi"
)

func notifyDescriptions() map[string]description {
	return map[string]description{
		"POST /instance/{i}/notify": {
			id: "notify", summary: "Send alerts as a message.", once: true, in: body[alerts.Notification](), query: []string{"to"}, out: body[notifyAnswer](),
			about:   "Sends one text with all alerts that the recipient did not get in the last 24 hours. Alerts with the same status, fingerprint and start are the same alert. A title or message is sent each time, unless it has a fingerprint.",
			example: `{"alerts":[{"status":"firing","labels":{"alertname":"DiskFull","instance":"db1"},"annotations":{"summary":"4 % are free"},"startsAt":"2026-11-20T09:30:00Z","fingerprint":"c6eadffa33fcdf37"}]}`,
			codes:   sending(),
		},
	}
}

// notifyFields are the fields of posts of monitoring systems.
func notifyFields() openapi.Fields {
	labels := object{"alertname": "DiskFull", "instance": "db1"}
	return openapi.Fields{
		"notify.?to": say("Who gets the text: a phone number with its country code, or the JID of a person or a group.", examplePhone, openapi.Required()),

		"Notification.status":          say("The status of alerts without their own, and of a title or message with a fingerprint.", "firing"),
		"Notification.alerts":          say("The alerts of a group.", nil, openapi.Items(0, alerts.MaxAlerts)),
		"Notification.groupLabels":     say("The labels that the alerts of the group share; they name the group when the alerts have different names.", labels),
		"Notification.truncatedAlerts": say("How many alerts the sender left out.", 0),
		"Notification.title":           say("A title, where there are no alerts.", "Backup"),
		"Notification.message":         say("A message, where there are no alerts.", "The backup of tonight failed."),
		"Notification.msg":             say("The message, as Uptime Kuma calls it.", "[Shop] [🔴 Down] timeout"),
		"Notification.fingerprint":     say("Identifies a title or message: with a fingerprint, it is sent once in 24 hours.", "backup-2026-11-20"),
		"Notification.startsAt":        say("When it began.", exampleTime),
		"Alert.status":                 say("firing or resolved; anything else counts as firing.", "firing"),
		"Alert.labels":                 say("What it is about. alertname is its name; severity is shown first.", labels),
		"Alert.annotations":            say("Words for people: summary, description and runbook_url are shown.", object{"summary": "4 % are free"}),
		"Alert.startsAt":               say("When it began.", exampleTime),
		"Alert.endsAt":                 say("When a resolved alert ended.", exampleTime),
		"Alert.fingerprint":            say("Identifies the alert; absent: its labels identify it.", "c6eadffa33fcdf37"),
		"Alert.generatorURL":           say("Its source: shown when there is no better link and it is the only alert.", "https://prometheus.example.org/graph"),
		"Alert.dashboardURL":           say("Its dashboard.", "https://grafana.example.org/d/1"),
		"Alert.panelURL":               say("Its panel.", "https://grafana.example.org/d/1?viewPanel=2"),
		"NotifyAnswer.sent":            say("The number of alerts in the text; 0: no text was sent.", 1),
		"NotifyAnswer.suppressed":      say("The number of alerts already sent before.", 0),
		"NotifyAnswer.unknown":         say("How many of those have an unknown outcome: they may not have arrived.", 0),
	}
}
