package httpapi

import (
	"postern/httpapi/openapi"
	"postern/instance/pace"
)

func limitsDescriptions() map[string]description {
	return map[string]description{
		"PUT /instance/{i}/limits": {
			id: "setLimits", summary: "Set what the instance may send.", about: "Limits absent from the body are removed; `{}` removes all.",
			in:      body[pace.Limits](),
			example: `{"perMinute":12,"perHour":200,"perDay":1000,"newContactsPerDay":50,"quietHours":{"from":"22:00","to":"07:00"},"timezone":"Europe/Berlin"}`,
			out:     body[pace.Limits](), codes: codes{"INVALID_LIMITS", "DISK_FULL"},
		},
		"GET /instance/{i}/limits": {id: "getLimits", summary: "Show what the instance may send.", out: body[pace.Limits]()},
	}
}

// limitsFields are the fields of an instance's limits.
func limitsFields() openapi.Fields {
	count, clock := openapi.Range(1, pace.MaxCount), openapi.Pattern("^([01][0-9]|2[0-3]):[0-5][0-9]$")
	return openapi.Fields{
		"InstanceLimits.perMinute":         say("Messages in any 60 seconds.", 12, count),
		"InstanceLimits.perHour":           say("Messages in any 60 minutes.", 200, count),
		"InstanceLimits.perDay":            say("Messages per local day.", 1000, count),
		"InstanceLimits.newContactsPerDay": say("New contacts per local day: people with no stored message from them and no privacy token.", 50, openapi.Range(0, pace.MaxCount)),
		"InstanceLimits.warmUp":            say("The daily limit while the account is new.", nil),
		"InstanceLimits.quietHours":        say("When nothing is sent, in the time zone.", nil),
		"InstanceLimits.timezone":          say("The IANA time zone of days and quiet hours; message.batch.timezone when absent.", "Europe/Berlin"),
		"InstanceLimits.jitterMs":          say("The pause between two messages, chosen at random each time.", nil),
		"WarmUp.from":                      say("The limit of the first day.", 20, count),
		"WarmUp.to":                        say("The limit of the last day, not less than from.", 500, count),
		"WarmUp.days":                      say("How many days it takes.", 14, openapi.Range(1, pace.MaxDays)),
		"WarmUp.startedAt":                 say("When it began; absent: unchanged, or now.", exampleTime, openapi.Format("date-time")),
		"QuietHours.from":                  say("When they begin, as HH:MM.", "22:00", clock),
		"QuietHours.to":                    say("When they end; on the next day when earlier than from.", "07:00", clock),
		"Jitter.min":                       say("The shortest, in milliseconds.", 2000, openapi.Range(0, pace.MaxJitter)),
		"Jitter.max":                       say("The longest, in milliseconds.", 6000, openapi.Range(0, pace.MaxJitter)),

		"LimitStatus.perMinute":         say("Of any 60 seconds.", nil),
		"LimitStatus.perHour":           say("Of any 60 minutes.", nil),
		"LimitStatus.perDay":            say("Of the local day: the lower of perDay and the warm-up.", nil),
		"LimitStatus.newContactsPerDay": say("Of the local day.", nil),
		"LimitStatus.quietUntil":        say("When the current quiet hours end; null outside quiet hours.", exampleTime, openapi.OrNull()),
		"LimitUse.limit":                say("The limit.", 200, openapi.AtLeast(0)),
		"LimitUse.used":                 say("How much was sent.", 17, openapi.AtLeast(0)),
		"LimitUse.resetsAt":             say("When used next decreases; null when it is 0.", exampleTime),
	}
}
