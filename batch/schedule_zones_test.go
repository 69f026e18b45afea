package batch

import (
	"fmt"
	"sort"
	"testing"
	"time"
	_ "time/tzdata" // the rules of these zones, whatever the machine has
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

// starts are the wall times at which the windows around a change start: midnight
// and noon, and on, before, within and after what the change skips or repeats.
func starts(change time.Time) []time.Duration {
	wall := clock(change.Add(-time.Nanosecond)).Add(time.Nanosecond) // where the clock was when it jumped
	of := wall.Sub(wall.Truncate(24 * time.Hour))
	all := []time.Duration{0, 12 * time.Hour}
	for _, m := range []int{-61, -60, -45, -30, -1, 0, 1, 20, 30, 59, 60, 61} {
		all = append(all, (of+time.Duration(m)*time.Minute+24*time.Hour)%(24*time.Hour))
	}
	return all
}

var lengths = []time.Duration{
	time.Minute, 30 * time.Minute, 45 * time.Minute, time.Hour, 90 * time.Minute, 8 * time.Hour, 24*time.Hour - time.Minute, 24 * time.Hour,
}

// TestADailyWindowRepeatsItsWallTimeOverEveryChangeOfTenYears holds the
// schedule against the walk at every edge of every window around the change,
// and at minutes between.
func TestADailyWindowRepeatsItsWallTimeOverEveryChangeOfTenYears(t *testing.T) {
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
	const before, after = 3, 3
	w := newWalk(zone, change.AddDate(0, 0, -before-1), before+after+3)
	date := w.seen[0].Truncate(24*time.Hour).AddDate(0, 0, 1)
	for _, start := range starts(change) {
		for _, length := range lengths {
			opens, ends := date.Add(start), date.Add(start+length)
			s := daily(t, zone, w.at(w.when(opens)), w.at(w.when(ends)))
			for day := range before + after {
				from, to := w.when(opens.AddDate(0, 0, day)), w.when(ends.AddDate(0, 0, day))
				for _, m := range []int{from - 1, from, from + 1, (from + to) / 2, to - 1, to, to + 1, to + 217} {
					if err := w.agrees(s, m, opens, ends); err != nil {
						t.Fatalf("%s, change of %s, daily %s to %s: %v", zone, change, opens.Format("15:04"), ends.Format("15:04"), err)
					}
				}
			}
		}
	}
}

// agrees compares the schedule with the walk in one minute.
func (w walk) agrees(s *Schedule, minute int, opens, ends time.Time) error {
	want, until := w.says(minute, opens, ends)
	now := w.at(minute)
	got, at := s.At(now)
	if got == WindowOpen && ends.Sub(opens) == 24*time.Hour {
		until = at // it never ends
		if !at.IsZero() {
			return fmt.Errorf("a window of a whole day ends at %s", at)
		}
	}
	if got != want || !at.Equal(until) {
		return fmt.Errorf("at %s it is %s until %s, the clock says %s until %s", now.In(s.start.Location()), got, at, want, until)
	}
	return nil
}

// says tells where a minute lies in the windows that the clock on the wall
// makes of the first one.
func (w walk) says(minute int, opens, ends time.Time) (Window, time.Time) {
	for day := 0; ; day++ {
		from, to := w.when(opens.AddDate(0, 0, day)), w.when(ends.AddDate(0, 0, day))
		if to <= minute || to <= from {
			continue
		}
		if minute < from {
			return WindowShut, w.at(from)
		}
		if next := w.when(opens.AddDate(0, 0, day+1)); next <= to { // what was between them is skipped
			to = w.when(ends.AddDate(0, 0, day+1))
		}
		return WindowOpen, w.at(to)
	}
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
	return ParseSchedule(raw, time.UTC)
}
