// Package schedule determines when a batch may send: by the windows of its schedule, and
// with alarms, by the wall clock.
package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"postern/internal/wallclock"
)

// Window is the state of a batch's schedule. Without a schedule the window is open.
type Window string

// The positions of a window.
const (
	Open  Window = "open"
	Shut  Window = "shut"  // another one will open
	Spent Window = "spent" // the only one has ended
)

// Schedule is when a batch may send: once (NONE), or every day at the same
// wall time (DAILY).
//
// A wall time that a change of the clock skips or repeats has one rule: an edge
// of a window is the first instant at which the clock shows its time or a later
// one. So a skipped edge lies where the clock jumps, a repeated one where its
// time comes for the first time, and a window that lies wholly in what was
// skipped does not exist on that day. The first window alone is given as
// instants and keeps them.
type Schedule struct {
	start, end time.Time // the first window, in the schedule's zone
	daily      bool
}

// Parse reads the schedule of a creation request; zone is used when it
// names none. null gives nil. Edges are cut to milliseconds, as the time of
// every commit is: else a clock read before a commit and the commit itself
// could disagree on whether a window is open.
func Parse(raw json.RawMessage, zone *time.Location) (*Schedule, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var in struct {
		WindowStartAt string `json:"windowStartAt"`
		WindowEndAt   string `json:"windowEndAt"`
		Recurrence    string `json:"recurrence"`
		Timezone      string `json:"timezone"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	if in.Recurrence != "DAILY" && in.Recurrence != "NONE" {
		return nil, fmt.Errorf("schedule.recurrence: %.100q is not one of NONE, DAILY", in.Recurrence)
	}
	zone, err := zoneOf(in.Timezone, zone)
	if err != nil {
		return nil, err
	}
	start, err := edge("windowStartAt", in.WindowStartAt)
	if err != nil {
		return nil, err
	}
	end, err := edge("windowEndAt", in.WindowEndAt)
	if err != nil {
		return nil, err
	}
	s := &Schedule{start: start.In(zone), end: end.In(zone), daily: in.Recurrence == "DAILY"}
	return s, s.check()
}

// zoneOf returns the zone of that name, or unnamed when there is no name.
func zoneOf(name string, unnamed *time.Location) (*time.Location, error) {
	if name == "" {
		return unnamed, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // that would mean another zone on another machine
		return nil, fmt.Errorf("schedule.timezone: %.100q is not a known zone", name)
	}
	return zone, nil
}

// edge reads one end of the first window.
func edge(field, text string) (time.Time, error) {
	var t time.Time
	if err := t.UnmarshalText([]byte(text)); err != nil {
		return t, fmt.Errorf("schedule.%s: %.100q is not an RFC 3339 time with its offset", field, text)
	}
	return t.Truncate(time.Millisecond), nil
}

func (s *Schedule) check() error {
	const day = 24 * time.Hour
	length := wallclock.Reading(s.end).Sub(wallclock.Reading(s.start))
	switch {
	case s.start.UTC().Year() < 1 || s.end.UTC().Year() > 9999:
		return errors.New("schedule: windowStartAt and windowEndAt must lie in the years 1 to 9999 of UTC")
	case !s.end.After(s.start):
		return errors.New("schedule.windowEndAt must be after windowStartAt")
	// A day on which the clock changes has 23 or 25 hours.
	case s.daily && length > day && s.end.Sub(s.start) > day:
		return errors.New("schedule: a DAILY window is at most 24 hours long")
	case s.daily && length <= 0:
		return fmt.Errorf("schedule: by the clock of %s the window ends at %s, not after its start at %s, and cannot repeat DAILY",
			s.start.Location(), s.end.Format("15:04:05.999"), s.start.Format("15:04:05.999"))
	}
	return nil
}

// Equal reports whether two schedules, nil for none, have the same windows.
func (s *Schedule) Equal(other *Schedule) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.start.Equal(other.start) && s.end.Equal(other.end) && s.daily == other.daily &&
		(!s.daily || s.start.Location().String() == other.start.Location().String())
}

// At reports where the schedule stands at now. While open, until is when the
// window ends, and zero when it never does; while shut, when the next one
// opens; spent has none. A window holds its start and not its end. A nil
// schedule is open without end.
func (s *Schedule) At(now time.Time) (w Window, until time.Time) {
	switch {
	case s == nil:
		return Open, time.Time{}
	case now.Before(s.start):
		return Shut, s.start
	case s.daily:
		return s.dailyAt(now)
	case now.Before(s.end):
		return Open, s.end
	}
	return Spent, time.Time{}
}

// dailyAt is At once the first window has opened.
func (s *Schedule) dailyAt(now time.Time) (Window, time.Time) {
	if wallclock.Reading(s.end).Sub(wallclock.Reading(s.start)) >= 24*time.Hour {
		return Open, time.Time{} // each window begins where the last one ends
	}
	for day := max(0, s.daysTo(now)); ; day++ {
		opens, ends := s.window(day)
		switch {
		case !ends.After(now) || !ends.After(opens):
			continue // over, or skipped by the clock
		case now.Before(opens):
			return Shut, opens
		}
		// The first window may end in the second run of a repeated hour.
		if next, later := s.window(day + 1); !next.After(ends) {
			ends = later
		}
		return Open, ends
	}
}

// window returns the occurrence so many days after the first one.
func (s *Schedule) window(days int) (opens, ends time.Time) {
	if days == 0 {
		return s.start, s.end
	}
	zone := s.start.Location()
	return wallclock.Shows(wallclock.Reading(s.start).AddDate(0, 0, days), zone), wallclock.Shows(wallclock.Reading(s.end).AddDate(0, 0, days), zone)
}

// daysTo counts the whole days between the first opening and now by the clock.
// The windows of the days before have ended, none being longer than a day. It
// counts in seconds, since a time.Duration ends after 292 years.
func (s *Schedule) daysTo(now time.Time) int {
	const day = 24 * 60 * 60
	return int((wallclock.Reading(now.In(s.start.Location())).Unix() - wallclock.Reading(s.start).Unix()) / day)
}
