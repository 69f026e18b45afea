package pace

import (
	"time"

	"postern/internal/wallclock"
)

const day = 24 * time.Hour

// dayAt returns when the local day of now began and when it ends.
func dayAt(now time.Time, zone *time.Location) (began, ends time.Time) {
	date := wallclock.Reading(now.In(zone)).Truncate(day)
	began, ends = wallclock.Shows(date, zone), wallclock.Shows(date.Add(day), zone)
	if !ends.After(now) { // the clock was set back over midnight: the new day continues
		began, ends = ends, wallclock.Shows(date.Add(2*day), zone)
	}
	return began, ends
}

// calendar is a local day: its start and end, and the quiet hours that may fall in it. It
// is constant over the day.
type calendar struct {
	began, ends time.Time
	quiet       [2]span   // starting on the previous day, and on this one
	born        time.Time // when the warm-up began, if any
}

type span struct{ from, to time.Time }

func calendarAt(now time.Time, zone *time.Location, q *QuietHours) (c calendar) {
	c.began, c.ends = dayAt(now, zone)
	if q == nil {
		return c
	}
	from, _ := minutes("", q.From)
	to, _ := minutes("", q.To)
	if to <= from {
		to += day
	}
	date := wallclock.Reading(now.In(zone)).Truncate(day)
	for i, d := range []time.Time{date.Add(-day), date} {
		c.quiet[i] = span{wallclock.Shows(d.Add(from), zone), wallclock.Shows(d.Add(to), zone)}
	}
	return c
}

// quietUntil returns when the quiet hours in force at now end, zero if none are.
func (c *calendar) quietUntil(now time.Time) time.Time {
	for _, q := range c.quiet {
		if !q.from.After(now) && q.to.After(now) {
			return q.to
		}
	}
	return time.Time{}
}

// day returns the local day of now, computed once a day.
func (b *book) day(now moment) *calendar {
	if b.calendar.ends.IsZero() || now.wall.Before(b.calendar.began) || !now.wall.Before(b.calendar.ends) {
		b.calendar = calendarAt(now.wall, b.zone, b.limits.QuietHours)
		if b.limits.WarmUp != nil {
			b.calendar.born = b.limits.WarmUp.began()
		}
	}
	return &b.calendar
}

// limitAt returns the day's limit at now in a warm-up that began then, and when it rises,
// zero if never.
func (w *WarmUp) limitAt(now, began time.Time) (limit int64, rises time.Time) {
	passed := max(0, int64(now.Sub(began)/day))
	if passed >= w.Days {
		return w.To, time.Time{}
	}
	limit = w.From + (w.To-w.From)*passed/w.Days
	return limit, began.Add(time.Duration(passed+1) * day)
}
