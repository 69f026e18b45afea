package instances

import (
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/instance/pace"
)

func limitsDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"PUT /instance/{i}/limits": {
			ID: "setLimits", Summary: "Set what the instance may send.", About: "Limits absent from the body are removed; `{}` removes all.",
			In:      rest.TypeOf[pace.Limits](),
			Example: `{"perMinute":12,"perHour":200,"perDay":1000,"newContactsPerDay":50,"quietHours":{"from":"22:00","to":"07:00"},"timezone":"Europe/Berlin"}`,
			Out:     rest.TypeOf[pace.Limits](), Codes: rest.Codes{"INVALID_LIMITS", "DISK_FULL"},
		},
		"GET /instance/{i}/limits": {ID: "getLimits", Summary: "Show what the instance may send.", Out: rest.TypeOf[pace.Limits]()},
	}
}

// LimitsFields are the fields of an instance's limits.
func LimitsFields() openapi.Fields {
	count, clock := openapi.Range(1, pace.MaxCount), openapi.Pattern("^([01][0-9]|2[0-3]):[0-5][0-9]$")
	return openapi.Fields{
		"InstanceLimits.perMinute":         rest.Say("Messages in any 60 seconds.", 12, count),
		"InstanceLimits.perHour":           rest.Say("Messages in any 60 minutes.", 200, count),
		"InstanceLimits.perDay":            rest.Say("Messages per local day.", 1000, count),
		"InstanceLimits.newContactsPerDay": rest.Say("New contacts per local day: people with no stored message from them and no privacy token.", 50, openapi.Range(0, pace.MaxCount)),
		"InstanceLimits.warmUp":            rest.Say("The daily limit while the account is new.", nil),
		"InstanceLimits.quietHours":        rest.Say("When nothing is sent, in the time zone.", nil),
		"InstanceLimits.timezone":          rest.Say("The IANA time zone of days and quiet hours; message.batch.timezone when absent.", "Europe/Berlin"),
		"InstanceLimits.jitterMs":          rest.Say("The pause between two messages, chosen at random each time.", nil),
		"WarmUp.from":                      rest.Say("The limit of the first day.", 20, count),
		"WarmUp.to":                        rest.Say("The limit of the last day, not less than from.", 500, count),
		"WarmUp.days":                      rest.Say("How many days it takes.", 14, openapi.Range(1, pace.MaxDays)),
		"WarmUp.startedAt":                 rest.Say("When it began; absent: unchanged, or now.", rest.ExampleTime, openapi.Format("date-time")),
		"QuietHours.from":                  rest.Say("When they begin, as HH:MM.", "22:00", clock),
		"QuietHours.to":                    rest.Say("When they end; on the next day when earlier than from.", "07:00", clock),
		"Jitter.min":                       rest.Say("The shortest, in milliseconds.", 2000, openapi.Range(0, pace.MaxJitter)),
		"Jitter.max":                       rest.Say("The longest, in milliseconds.", 6000, openapi.Range(0, pace.MaxJitter)),

		"LimitStatus.perMinute":         rest.Say("Of any 60 seconds.", nil),
		"LimitStatus.perHour":           rest.Say("Of any 60 minutes.", nil),
		"LimitStatus.perDay":            rest.Say("Of the local day: the lower of perDay and the warm-up.", nil),
		"LimitStatus.newContactsPerDay": rest.Say("Of the local day.", nil),
		"LimitStatus.quietUntil":        rest.Say("When the current quiet hours end; null outside quiet hours.", rest.ExampleTime, openapi.OrNull()),
		"LimitUse.limit":                rest.Say("The limit.", 200, openapi.AtLeast(0)),
		"LimitUse.used":                 rest.Say("How much was sent.", 17, openapi.AtLeast(0)),
		"LimitUse.resetsAt":             rest.Say("When used next decreases; null when it is 0.", rest.ExampleTime),
	}
}
