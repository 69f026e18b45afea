package httpapi

import (
	"postern/httpapi/alerts"
	"postern/httpapi/openapi"
)

func notifyDescriptions() map[string]description {
	return map[string]description{
		"POST /instance/{i}/notify": {
			id: "notify", summary: "Tell somebody about alerts.", once: true, in: body[alerts.Notification](), query: []string{"to"}, out: body[notifyAnswer](),
			about:   "One text of all that was not told to them in the last 24 hours: the same alert, by its status, fingerprint and start, is told once. A title or message is told each time, unless it has a fingerprint.",
			example: `{"alerts":[{"status":"firing","labels":{"alertname":"DiskFull","instance":"db1"},"annotations":{"summary":"4 % are free"},"startsAt":"2026-11-20T09:30:00Z","fingerprint":"c6eadffa33fcdf37"}]}`,
			codes:   sending(),
		},
	}
}

// notifyFields are those of what monitoring posts.
func notifyFields() openapi.Fields {
	labels := object{"alertname": "DiskFull", "instance": "db1"}
	return openapi.Fields{
		"notify.?to": say("Who gets the text: a phone number with its country code, or the JID of a person or a group.", examplePhone, openapi.Required()),

		"Notification.status":          say("Of alerts that have none of their own, and of a title or message with a fingerprint.", "firing"),
		"Notification.alerts":          say("The alerts of a group.", nil, openapi.Items(0, alerts.MaxAlerts)),
		"Notification.groupLabels":     say("What the alerts of the group have in common; it names them where they have several names.", labels),
		"Notification.truncatedAlerts": say("How many alerts the sender left out.", 0),
		"Notification.title":           say("A title, where there are no alerts.", "Backup"),
		"Notification.message":         say("A message, where there are no alerts.", "The backup of tonight failed."),
		"Notification.msg":             say("The message, as Uptime Kuma calls it.", "[Shop] [🔴 Down] timeout"),
		"Notification.fingerprint":     say("What a title or message is known by: with one, it is told once in 24 hours.", "backup-2026-11-20"),
		"Notification.startsAt":        say("When that began.", exampleTime),
		"Alert.status":                 say("firing or resolved; anything else counts as firing.", "firing"),
		"Alert.labels":                 say("What it is about. alertname is its name; severity is shown first.", labels),
		"Alert.annotations":            say("Words for people: summary, description and runbook_url are shown.", object{"summary": "4 % are free"}),
		"Alert.startsAt":               say("When it began.", exampleTime),
		"Alert.endsAt":                 say("When it ended, of one that is resolved.", exampleTime),
		"Alert.fingerprint":            say("What it is known by; where there is none, its labels are.", "c6eadffa33fcdf37"),
		"Alert.generatorURL":           say("Where it comes from: shown where there is no better link and it is the only alert.", "https://prometheus.example.org/graph"),
		"Alert.dashboardURL":           say("Its dashboard.", "https://grafana.example.org/d/1"),
		"Alert.panelURL":               say("Its panel.", "https://grafana.example.org/d/1?viewPanel=2"),
		"NotifyAnswer.sent":            say("How many alerts are in the text; 0: none was sent.", 1),
		"NotifyAnswer.suppressed":      say("How many were told before.", 0),
		"NotifyAnswer.unknown":         say("Of those, how many of which nobody knows whether they arrived.", 0),
	}
}
