package pace

import (
	"time"

	"postern/event"
)

// Use is the usage of a limit.
type Use struct {
	Limit    int64       `json:"limit" doc:"The limit." example:"200" rules:"minimum=0"`
	Used     int64       `json:"used" doc:"How much was sent." example:"17" rules:"minimum=0"`
	ResetsAt *event.Time `json:"resetsAt" doc:"When used next decreases; null when it is 0." example:"$time"`
}

// Status is the usage of an instance's limits. Unset limits are omitted.
type Status struct {
	PerMinute         *Use        `json:"perMinute,omitempty" doc:"Of any 60 seconds."`
	PerHour           *Use        `json:"perHour,omitempty" doc:"Of any 60 minutes."`
	PerDay            *Use        `json:"perDay,omitempty" doc:"Of the local day: the lower of perDay and the warm-up."`
	NewContactsPerDay *Use        `json:"newContactsPerDay,omitempty" doc:"Of the local day."`
	QuietUntil        *event.Time `json:"quietUntil,omitempty" doc:"When the current quiet hours end; null outside quiet hours." example:"$time" rules:"null"`
}

func (b *book) status(now moment) Status {
	var s Status
	day := b.day(now)
	began, ends := day.began, day.ends
	today := b.since(now.back(began))
	for i, use := range []**Use{&s.PerMinute, &s.PerHour} {
		if w := b.windows()[i]; w.limit != nil {
			inside := b.since(now.awake - w.span + 1) // departures exactly one span ago are outside
			*use = used(*w.limit, len(inside), time.Time{})
			if len(inside) > 0 {
				(*use).ResetsAt = next(now.wall.Add(inside[0].at + w.span - now.awake))
			}
		}
	}
	if most, _ := b.dayLimit(now, day); most >= 0 {
		s.PerDay = used(most, len(today), ends)
	}
	if most := b.limits.NewContactsPerDay; most != nil {
		s.NewContactsPerDay = used(*most, len(b.newContacts(now.back(began)).people), ends)
	}
	if b.limits.QuietHours != nil {
		s.QuietUntil = &event.Time{}
		if until := day.quietUntil(now.wall); !until.IsZero() {
			s.QuietUntil = next(until)
		}
	}
	return s
}

// next returns the first time representable in JSON that is not before t.
func next(t time.Time) *event.Time { return event.AtPtr(t.Add(time.Millisecond - 1)) }

func used(limit int64, n int, resets time.Time) *Use {
	u := &Use{Limit: limit, Used: int64(n)}
	if n > 0 && !resets.IsZero() {
		u.ResetsAt = next(resets)
	}
	return u
}
