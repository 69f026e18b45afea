package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Schedule is when a batch may send: once (NONE), or every day at the same
// wall time (DAILY).
type Schedule struct {
	start, end time.Time // the first window, in the schedule's zone
	daily      bool
}

// ParseSchedule reads the schedule of a creation request; zone is used when it
// names none. null gives nil.
func ParseSchedule(raw json.RawMessage, zone *time.Location) (*Schedule, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var in struct {
		WindowStartAt time.Time `json:"windowStartAt"`
		WindowEndAt   time.Time `json:"windowEndAt"`
		Recurrence    string    `json:"recurrence"`
		Timezone      string    `json:"timezone"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	if in.Timezone != "" {
		var err error
		if zone, err = time.LoadLocation(in.Timezone); err != nil {
			return nil, fmt.Errorf("schedule.timezone: %q is not a known zone", in.Timezone)
		}
	}
	s := &Schedule{start: in.WindowStartAt.In(zone), end: in.WindowEndAt.In(zone), daily: in.Recurrence == "DAILY"}
	switch {
	case in.WindowStartAt.IsZero() || in.WindowEndAt.IsZero():
		return nil, errors.New("schedule: windowStartAt and windowEndAt are required")
	case !s.end.After(s.start):
		return nil, errors.New("schedule.windowEndAt must be after windowStartAt")
	case in.Recurrence != "DAILY" && in.Recurrence != "NONE":
		return nil, fmt.Errorf("schedule.recurrence: %q is not one of NONE, DAILY", in.Recurrence)
	case s.daily && s.end.Sub(s.start) > 24*time.Hour:
		return nil, errors.New("schedule: a DAILY window is at most 24 hours long")
	}
	return s, nil
}

// At tells where the schedule stands at now. While open, until is when the
// window ends; while shut, when the next one opens; spent has none. A nil
// schedule is open without end.
func (s *Schedule) At(now time.Time) (w Window, until time.Time) {
	if s == nil {
		return WindowOpen, time.Time{}
	}
	if !s.daily {
		return s.first(now)
	}
	now = now.In(s.start.Location())
	// A window may cross midnight, and a skipped hour may swallow one.
	for day := max(0, s.daysTo(now)-2); ; day++ {
		opens, ends := s.window(day)
		if ends.After(now) && ends.After(opens) {
			if opens.After(now) {
				return WindowShut, opens
			}
			return WindowOpen, ends
		}
	}
}

func (s *Schedule) first(now time.Time) (Window, time.Time) {
	switch {
	case now.Before(s.start):
		return WindowShut, s.start
	case now.Before(s.end):
		return WindowOpen, s.end
	}
	return WindowSpent, time.Time{}
}

// window returns the occurrence so many days after the first one, at the same
// wall times.
func (s *Schedule) window(days int) (opens, ends time.Time) {
	return s.start.AddDate(0, 0, days), s.end.AddDate(0, 0, days)
}

func (s *Schedule) daysTo(now time.Time) int {
	return int(now.Sub(s.start) / (24 * time.Hour))
}
