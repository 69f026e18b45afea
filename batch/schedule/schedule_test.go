package schedule

import (
	"fmt"
	"testing"
	"time"
)

func TestAScheduleKeepsItsWallTime(t *testing.T) {
	const zone = "Europe/Berlin"
	for _, tc := range []struct {
		rule, start, end, recurrence, now string
		want                              Window
		until                             string
	}{
		{"before a single window", "2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z", "NONE", "2026-03-01T08:59:59Z", Shut, "2026-03-01T09:00:00Z"},
		{"a window includes its start", "2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z", "NONE", "2026-03-01T09:00:00Z", Open, "2026-03-01T10:00:00Z"},
		{"a window excludes its end", "2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z", "NONE", "2026-03-01T10:00:00Z", Spent, "0001-01-01T00:00:00Z"},
		{"daily before the first day", "2026-03-27T09:00:00+01:00", "2026-03-27T17:00:00+01:00", "DAILY", "2026-03-20T12:00:00Z", Shut, "2026-03-27T08:00:00Z"},
		{"daily between windows", "2026-03-20T09:00:00+01:00", "2026-03-20T17:00:00+01:00", "DAILY", "2026-03-21T20:00:00Z", Shut, "2026-03-22T08:00:00Z"},
		{"daily keeps the wall time when summer begins", "2026-03-20T09:00:00+01:00", "2026-03-20T17:00:00+01:00", "DAILY", "2026-03-30T06:00:00Z", Shut, "2026-03-30T07:00:00Z"},
		{"daily keeps the wall time when winter begins", "2026-10-20T09:00:00+02:00", "2026-10-20T17:00:00+02:00", "DAILY", "2026-10-26T15:30:00Z", Open, "2026-10-26T16:00:00Z"},
		{"daily crosses midnight", "2026-03-20T22:00:00+01:00", "2026-03-21T02:00:00+01:00", "DAILY", "2026-03-25T00:30:00Z", Open, "2026-03-25T01:00:00Z"},
		{"a full day is always open", "2026-03-20T08:00:00+01:00", "2026-03-21T08:00:00+01:00", "DAILY", "2026-03-25T07:00:00Z", Open, "0001-01-01T00:00:00Z"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			raw := fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":%q,"timezone":%q}`, tc.start, tc.end, tc.recurrence, zone)
			s, err := Parse(raw, time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			now, err := time.Parse(time.RFC3339, tc.now)
			if err != nil {
				t.Fatal(err)
			}
			w, until := s.At(now)
			if got := until.UTC().Format(time.RFC3339); w != tc.want || got != tc.until {
				t.Errorf("got %s until %s, want %s until %s", w, got, tc.want, tc.until)
			}
		})
	}
}

func TestAScheduleThatMakesNoSenseIsRefused(t *testing.T) {
	for rule, raw := range map[string]string{
		"unknown field":       `{"windowStartAt":"2026-03-01T09:00:00Z","windowEndAt":"2026-03-01T10:00:00Z","recurrence":"NONE","x":1}`,
		"end before start":    `{"windowStartAt":"2026-03-01T09:00:00Z","windowEndAt":"2026-03-01T08:00:00Z","recurrence":"NONE"}`,
		"no end":              `{"windowStartAt":"2026-03-01T09:00:00Z","recurrence":"NONE"}`,
		"unknown recurrence":  `{"windowStartAt":"2026-03-01T09:00:00Z","windowEndAt":"2026-03-01T10:00:00Z","recurrence":"WEEKLY"}`,
		"daily over 24 hours": `{"windowStartAt":"2026-03-01T09:00:00Z","windowEndAt":"2026-03-02T09:00:01Z","recurrence":"DAILY"}`,
		"unknown zone":        `{"windowStartAt":"2026-03-01T09:00:00Z","windowEndAt":"2026-03-01T10:00:00Z","recurrence":"NONE","timezone":"Mars"}`,
	} {
		if _, err := Parse([]byte(raw), time.UTC); err == nil {
			t.Errorf("%s: accepted", rule)
		}
	}
}
