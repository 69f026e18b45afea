package httpapi

import (
	"postern/httpapi/openapi"
	"postern/instance/pace"
)

func limitsDescriptions() map[string]description {
	return map[string]description{
		"PUT /instance/{i}/limits": {
			id: "setLimits", summary: "Set what the instance may send.", about: "What the body does not name sets no limit; `{}` takes all away.",
			in:      body[pace.Limits](),
			example: `{"perMinute":12,"perHour":200,"perDay":1000,"newContactsPerDay":50,"quietHours":{"from":"22:00","to":"07:00"},"timezone":"Europe/Berlin"}`,
			out:     body[pace.Limits](), codes: codes{"INVALID_LIMITS", "DISK_FULL"},
		},
		"GET /instance/{i}/limits": {id: "getLimits", summary: "Show what the instance may send.", out: body[pace.Limits]()},
	}
}

// limitsFields are those of what an instance may send.
func limitsFields() openapi.Fields {
	count, clock := openapi.Range(1, pace.MaxCount), openapi.Pattern("^([01][0-9]|2[0-3]):[0-5][0-9]$")
	return openapi.Fields{
		"InstanceLimits.perMinute":         say("Messages in any 60 seconds.", 12, count),
		"InstanceLimits.perHour":           say("Messages in any 60 minutes.", 200, count),
		"InstanceLimits.perDay":            say("Messages a local day.", 1000, count),
		"InstanceLimits.newContactsPerDay": say("People a local day of whom nothing is stored that they wrote, and who gave no privacy token.", 50, openapi.Range(0, pace.MaxCount)),
		"InstanceLimits.warmUp":            say("The messages of a day while the account is young.", nil),
		"InstanceLimits.quietHours":        say("When nothing leaves, by the clock of the time zone.", nil),
		"InstanceLimits.timezone":          say("The IANA time zone of days and quiet hours; message.batch.timezone when absent.", "Europe/Berlin"),
		"InstanceLimits.jitterMs":          say("The time between two messages, drawn at random each time.", nil),
		"WarmUp.from":                      say("Messages of the first day.", 20, count),
		"WarmUp.to":                        say("Messages of a day at the end, at least as many.", 500, count),
		"WarmUp.days":                      say("How many days it takes.", 14, openapi.Range(1, pace.MaxDays)),
		"WarmUp.startedAt":                 say("When it began; when absent, as it was, or now.", exampleTime, openapi.Format("date-time")),
		"QuietHours.from":                  say("When they begin, as HH:MM.", "22:00", clock),
		"QuietHours.to":                    say("When they end; on the next day when it is the earlier one.", "07:00", clock),
		"Jitter.min":                       say("The least, in milliseconds.", 2000, openapi.Range(0, pace.MaxJitter)),
		"Jitter.max":                       say("The longest, in milliseconds.", 6000, openapi.Range(0, pace.MaxJitter)),

		"LimitStatus.perMinute":         say("Of any 60 seconds.", nil),
		"LimitStatus.perHour":           say("Of any 60 minutes.", nil),
		"LimitStatus.perDay":            say("Of the local day: the lower one of perDay and the warm-up.", nil),
		"LimitStatus.newContactsPerDay": say("Of the local day.", nil),
		"LimitStatus.quietUntil":        say("When the quiet hours end that hold now; null when none do.", exampleTime, openapi.OrNull()),
		"LimitUse.limit":                say("The most that may leave.", 200, openapi.AtLeast(0)),
		"LimitUse.used":                 say("How much has left.", 17, openapi.AtLeast(0)),
		"LimitUse.resetsAt":             say("When used becomes less; null when it is 0.", exampleTime),
	}
}
