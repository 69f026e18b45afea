package pace

import (
	"time"

	"postern/internal/wallclock"
)

const day = 24 * time.Hour

// dayAt returns when the local day of now began and when the next one does.
func dayAt(now time.Time, zone *time.Location) (began, ends time.Time) {
	date := wallclock.Reading(now.In(zone)).Truncate(day)
	began, ends = wallclock.Shows(date, zone), wallclock.Shows(date.Add(day), zone)
	if !ends.After(now) { // the clock was set back over midnight: the new day goes on
		began, ends = ends, wallclock.Shows(date.Add(2*day), zone)
	}
	return began, ends
}

// calendar is a local day: when it began and ends, and the quiet hours that may
// hold in it. It is the same for every moment of the day.
type calendar struct {
	began, ends time.Time
	quiet       [2]span   // those that begin on the day before, and on it
	born        time.Time // when the warm-up began, if there is one
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

// quietUntil tells when the quiet hours end that hold at now; zero: none do.
func (c *calendar) quietUntil(now time.Time) time.Time {
	for _, q := range c.quiet {
		if !q.from.After(now) && q.to.After(now) {
			return q.to
		}
	}
	return time.Time{}
}

// day returns the local day of now, which is worked out once a day.
func (b *book) day(now moment) *calendar {
	if b.calendar.ends.IsZero() || now.wall.Before(b.calendar.began) || !now.wall.Before(b.calendar.ends) {
		b.calendar = calendarAt(now.wall, b.zone, b.limits.QuietHours)
		if b.limits.WarmUp != nil {
			b.calendar.born = b.limits.WarmUp.began()
		}
	}
	return &b.calendar
}

// limitAt is the most that leaves a day at now, in a warm-up that began then, and
// when that rises; zero: it does not.
func (w *WarmUp) limitAt(now, began time.Time) (limit int64, rises time.Time) {
	passed := max(0, int64(now.Sub(began)/day))
	if passed >= w.Days {
		return w.To, time.Time{}
	}
	limit = w.From + (w.To-w.From)*passed/w.Days
	return limit, began.Add(time.Duration(passed+1) * day)
}
