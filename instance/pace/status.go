package pace

import (
	"time"

	"postern/event"
)

// Use is the usage of a limit.
type Use struct {
	Limit    int64       `json:"limit"`
	Used     int64       `json:"used"`
	ResetsAt *event.Time `json:"resetsAt"` // when Used decreases; null: nothing is used
}

// Status is the usage of an instance's limits. Unset limits are omitted.
type Status struct {
	PerMinute         *Use        `json:"perMinute,omitempty"`
	PerHour           *Use        `json:"perHour,omitempty"`
	PerDay            *Use        `json:"perDay,omitempty"` // the lower of perDay and warmUp
	NewContactsPerDay *Use        `json:"newContactsPerDay,omitempty"`
	QuietUntil        *event.Time `json:"quietUntil,omitempty"` // end of quiet hours; null: not in quiet hours
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
