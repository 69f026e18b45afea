package schedule

import (
	"fmt"
	"sort"
	"testing"
	"time"
	_ "time/tzdata" // the rules of these zones, whatever the machine has

	"postern/internal/wallclock"
)

// walk is what a clock on the wall shows in each minute of some days. It knows
// nothing of offsets and changes, so it is a witness against schedule.go.
type walk struct {
	first time.Time
	seen  []time.Time // the latest time shown so far, by minutes since first, as if it were UTC
}

func newWalk(zone *time.Location, from time.Time, days int) walk {
	w := walk{first: from.Truncate(time.Minute)}
	var latest time.Time
	for m := range days * 24 * 60 {
		t := w.at(m).In(zone)
		if shown := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC); shown.After(latest) {
			latest = shown
		}
		w.seen = append(w.seen, latest)
	}
	return w
}

// when returns the first minute at which the clock shows wall or later.
func (w walk) when(wall time.Time) int {
	return sort.Search(len(w.seen), func(m int) bool { return !w.seen[m].Before(wall) })
}

func (w walk) at(minute int) time.Time { return w.first.Add(time.Duration(minute) * time.Minute) }

// changesOf returns every change of the zone's clock in ten years.
func changesOf(zone *time.Location) (all []time.Time) {
	end := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	for t := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).In(zone); ; {
		if _, t = t.ZoneBounds(); t.IsZero() || t.After(end) {
			return all
		}
		all = append(all, t)
	}
}

// starts returns the wall times at which the windows around a change start: midnight
// and noon, and on, before, within and after what the change skips or repeats.
func starts(change time.Time) []time.Duration {
	wall := wallclock.Reading(change.Add(-time.Nanosecond)).Add(time.Nanosecond) // where the clock was when it jumped
	of := wall.Sub(wall.Truncate(24 * time.Hour))
	all := []time.Duration{0, 12 * time.Hour}
	for _, m := range []int{-60, -30, -1, 0, 1, 20, 59, 60} {
		all = append(all, (of+time.Duration(m)*time.Minute+24*time.Hour)%(24*time.Hour))
	}
	return all
}

var lengths = []time.Duration{
	time.Minute, 40 * time.Minute, time.Hour, 8 * time.Hour, 24*time.Hour - time.Minute, 24 * time.Hour,
}

// TestDailyWindowKeepsLocalTimeForTenYears holds the
// schedule against the walk at every edge of every window around the change,
// and at minutes between.
func TestDailyWindowKeepsLocalTimeForTenYears(t *testing.T) {
	t.Parallel()
	atLeast := map[string]int{ // the years ahead are a forecast, and may gain changes
		"America/New_York": 22, "Europe/Berlin": 22, "America/Santiago": 22, "Australia/Lord_Howe": 22, "Africa/Casablanca": 22,
		"Africa/Cairo": 16, "America/Sao_Paulo": 0, "Asia/Kathmandu": 0, "Pacific/Apia": 3, "Asia/Tehran": 6, "Antarctica/Troll": 22,
	}
	for name, want := range atLeast {
		zone := mustZone(t, name)
		all := changesOf(zone)
		if len(all) < want {
			t.Errorf("%s: %d changes of the clock, at least %d were expected", name, len(all), want)
		}
		// A zone without a change, and the day on which Apia had no date.
		all = append(all, time.Date(2026, 6, 1, 2, 0, 0, 0, zone), time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC).In(zone))
		for _, change := range all {
			aroundChange(t, zone, change)
		}
	}
}

func aroundChange(t *testing.T, zone *time.Location, change time.Time) {
	t.Helper()
	w := newWalk(zone, change.AddDate(0, 0, -4), 10)
	date := w.seen[0].Truncate(24*time.Hour).AddDate(0, 0, 1)
	for _, start := range starts(change) {
		for _, length := range lengths {
			windows := w.openings(date.Add(start), date.Add(start+length))
			s := daily(t, zone, windows[0].from, windows[0].to)
			for _, at := range edges(windows[2:5]) {
				if err := agree(s, windows, at); err != nil {
					t.Fatalf("%s, change of %s, daily from %s for %s: %v", zone, change, start, length, err)
				}
			}
		}
	}
}

type opening struct{ from, to time.Time }

// openings returns the windows of some days that the clock on the wall makes of the first
// one.
func (w walk) openings(opens, ends time.Time) (all []opening) {
	for day := range 8 {
		all = append(all, opening{w.at(w.when(opens.AddDate(0, 0, day))), w.at(w.when(ends.AddDate(0, 0, day)))})
	}
	return all
}

// edges returns the minutes at, around and between the edges of the windows.
func edges(windows []opening) (all []time.Time) {
	for _, one := range windows {
		all = append(all, one.from.Add(-time.Minute), one.from, one.from.Add(time.Minute), one.from.Add(one.to.Sub(one.from)/2),
			one.to.Add(-time.Minute), one.to, one.to.Add(217*time.Minute))
	}
	return all
}

// agree compares the schedule with the windows at one instant.
func agree(s *Schedule, windows []opening, now time.Time) error {
	want, until := stands(windows, now)
	got, at := s.At(now)
	if got == Open && wallclock.Reading(s.end).Sub(wallclock.Reading(s.start)) == 24*time.Hour {
		until = time.Time{} // it never ends
	}
	if got != want || !at.Equal(until) {
		return fmt.Errorf("at %s it is %s until %s, the clock says %s until %s", now.In(s.start.Location()), got, at, want, until)
	}
	return nil
}

func stands(windows []opening, now time.Time) (Window, time.Time) {
	for day, one := range windows {
		switch {
		case !one.to.After(now) || !one.to.After(one.from):
			continue
		case now.Before(one.from):
			return Shut, one.from
		}
		if next := windows[day+1]; !next.from.After(one.to) { // what was between them is skipped
			return Open, next.to
		}
		return Open, one.to
	}
	return Spent, time.Time{}
}

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func daily(t testing.TB, zone *time.Location, start, end time.Time) *Schedule {
	t.Helper()
	s, err := parse(start, end, "DAILY", zone.String())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(start, end time.Time, recurrence, zone string) (*Schedule, error) {
	raw := fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":%q,"timezone":%q}`,
		start.Format(time.RFC3339Nano), end.Format(time.RFC3339Nano), recurrence, zone)
	return Parse(raw, time.UTC)
}
