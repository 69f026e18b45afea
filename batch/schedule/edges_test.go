package schedule

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestEdgesInSkippedAndRepeatedHours(t *testing.T) {
	for _, tc := range []struct {
		rule, zone, start, end, now string // the first window in 2026, on 1 March or 1 October
		want                        Window
		until                       string
	}{
		// 29 March 2026, 02:00 to 03:00 does not exist in Berlin; 8 March in New York.
		{"a skipped start, east of Greenwich", "Europe/Berlin", "03-01T02:30:00+01:00", "03-01T05:00:00+01:00", "03-29T00:00:00Z", Shut, "03-29T01:00:00Z"},
		{"a skipped start, west of Greenwich", "America/New_York", "03-01T02:30:00-05:00", "03-01T05:00:00-05:00", "03-08T06:59:59Z", Shut, "03-08T07:00:00Z"},
		{"a skipped end, east", "Europe/Berlin", "03-01T01:45:00+01:00", "03-01T02:30:00+01:00", "03-29T00:50:00Z", Open, "03-29T01:00:00Z"},
		{"a skipped end, west", "America/New_York", "03-01T01:45:00-05:00", "03-01T02:30:00-05:00", "03-08T06:50:00Z", Open, "03-08T07:00:00Z"},
		{"a window that is skipped whole is not made up for", "Europe/Berlin", "03-01T02:10:00+01:00", "03-01T02:40:00+01:00", "03-28T02:00:00Z", Shut, "03-30T00:10:00Z"},
		// 25 October 2026, 02:00 to 03:00 comes twice in Berlin; 1 November 01:00 to 02:00 in New York.
		{"a repeated start", "Europe/Berlin", "10-01T02:30:00+02:00", "10-01T05:00:00+02:00", "10-24T23:00:00Z", Shut, "10-25T00:30:00Z"},
		{"a repeated end", "Europe/Berlin", "10-01T01:00:00+02:00", "10-01T02:30:00+02:00", "10-25T00:00:00Z", Open, "10-25T00:30:00Z"},
		{"a window within what is repeated comes once", "America/New_York", "10-01T01:10:00-04:00", "10-01T01:40:00-04:00", "11-01T05:50:00Z", Shut, "11-02T06:10:00Z"},
		{"half an hour is skipped", "Australia/Lord_Howe", "09-20T02:15:00+10:30", "09-20T02:45:00+10:30", "10-03T15:00:00Z", Shut, "10-03T15:30:00Z"},
		{"midnight is skipped", "America/Santiago", "09-01T00:00:00-04:00", "09-01T00:30:00-04:00", "09-06T03:00:00Z", Shut, "09-07T03:00:00Z"},
		{"a first window in the second run keeps its instants", "Europe/Berlin", "10-25T02:15:00+01:00", "10-25T02:45:00+01:00", "10-25T00:20:00Z", Shut, "10-25T01:15:00Z"},
		{"a first window over both runs", "Europe/Berlin", "10-25T02:15:00+02:00", "10-25T02:45:00+01:00", "10-25T01:00:00Z", Open, "10-25T01:45:00Z"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			s := daily(t, mustZone(t, tc.zone), instant(t, "2026-"+tc.start), instant(t, "2026-"+tc.end))
			w, until := s.At(instant(t, "2026-"+tc.now))
			if want := instant(t, "2026-"+tc.until); w != tc.want || !until.Equal(want) {
				t.Errorf("got %s until %s, want %s until %s", w, until.UTC(), tc.want, want)
			}
		})
	}
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// A window that begins in the first run of a repeated hour and ends in the
// second has an end before its start on every other day. It once had At look
// for the next opening without end.
func TestDailyWindowEndingBeforeItsStartIsRefused(t *testing.T) {
	_, err := parse(instant(t, "2025-10-26T00:50:00Z"), instant(t, "2025-10-26T01:10:00Z"), "DAILY", "Europe/Berlin")
	if err == nil || !strings.Contains(err.Error(), "ends at 02:10:00, not after its start at 02:50:00") {
		t.Errorf("%v", err)
	}
	if _, err = parse(instant(t, "2025-10-26T00:50:00Z"), instant(t, "2025-10-26T01:10:00Z"), "NONE", "Europe/Berlin"); err != nil {
		t.Errorf("once, it is a window like any other: %v", err)
	}
}

func TestDailyWindowLengthAcrossClockChanges(t *testing.T) {
	for _, tc := range []struct {
		rule, start, end string
		want             bool
	}{
		{"24 hours by the clock, 25 in time", "2026-10-24T08:00:00+02:00", "2026-10-25T08:00:00+01:00", true},
		{"25 hours by the clock, 24 in time", "2026-03-28T08:00:00+01:00", "2026-03-29T09:00:00+02:00", true},
		{"a millisecond over both", "2026-06-01T08:00:00+02:00", "2026-06-02T08:00:00.001+02:00", false},
	} {
		s, err := parse(instant(t, tc.start), instant(t, tc.end), "DAILY", "Europe/Berlin")
		if (err == nil) != tc.want {
			t.Errorf("%s: %v", tc.rule, err)
			continue
		}
		if !tc.want {
			continue
		}
		if w, until := s.At(s.start.AddDate(0, 3, 0)); w != Open || !until.IsZero() {
			t.Errorf("%s: later it is %s until %s", tc.rule, w, until)
		}
	}
}

// Commits carry whole milliseconds. With a finer edge, a worker could read
// "open" from the clock and write "shut" in the commit that follows.
func TestEdgesAreTruncatedToMilliseconds(t *testing.T) {
	start := instant(t, "2026-06-01T08:00:00.0005Z")
	s := daily(t, time.UTC, start, start.Add(time.Hour))
	if w, _ := s.At(start.Truncate(time.Millisecond)); w != Open {
		t.Errorf("%s in the millisecond of its start", w)
	}
	if _, err := parse(start, start.Add(100*time.Microsecond), "NONE", "UTC"); err == nil {
		t.Error("a window shorter than a millisecond was accepted")
	}
}

func TestAScheduleOutsideOfTheCalendarIsRefused(t *testing.T) {
	for _, raw := range []string{
		`{"windowStartAt":"9999-12-31T20:00:00Z","windowEndAt":"9999-12-31T23:00:00-05:00","recurrence":"NONE"}`,
		`{"windowStartAt":"0001-01-01T00:00:00+05:00","windowEndAt":"2026-01-01T00:00:00Z","recurrence":"NONE"}`,
		`{"windowStartAt":"2026-01-01T00:00:00Z","windowEndAt":"2026-01-01T01:00:00Z","recurrence":"NONE","timezone":"Local"}`,
	} {
		if _, err := Parse([]byte(raw), time.UTC); err == nil {
			t.Errorf("%s was accepted", raw)
		}
	}
}

// FuzzSchedule asks any schedule that is accepted where it stands, from its
// first second to the end of the calendar: it answers at once, what it names is
// ahead, and at that instant the answer changes.
func FuzzSchedule(f *testing.F) {
	for _, zone := range []string{"Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", ""} {
		for _, recurrence := range []string{"DAILY", "NONE"} {
			f.Add(fmt.Appendf(nil, `{"windowStartAt":"2026-03-28T02:30:00+01:00","windowEndAt":"2026-03-29T02:10:00+01:00","recurrence":%q,"timezone":%q}`,
				recurrence, zone), int64(1_774_746_000))
		}
	}
	f.Add([]byte(`{"windowStartAt":"2025-10-26T00:50:00Z","windowEndAt":"2025-10-26T01:10:00Z","recurrence":"DAILY","timezone":"Europe/Berlin"}`), int64(0))
	f.Add([]byte(`{"windowStartAt":"0001-01-01T00:00:01Z","windowEndAt":"0001-01-01T23:00:00Z","recurrence":"DAILY"}`), int64(1_800_000_000))
	f.Add([]byte(`null`), int64(0))
	f.Fuzz(func(t *testing.T, raw []byte, at int64) {
		s, err := Parse(json.RawMessage(raw), time.UTC)
		if err != nil || s == nil {
			return
		}
		const last = 253_402_300_799 // 9999-12-31T23:59:59Z
		for _, now := range []time.Time{
			time.Unix(at%last, 0), s.start, s.end, s.start.Add(-time.Millisecond), s.end.Add(-time.Millisecond), time.Unix(last, 0),
		} {
			holds(t, s, now)
		}
	})
}

func holds(t *testing.T, s *Schedule, now time.Time) {
	t.Helper()
	began := time.Now()
	w, until := s.At(now)
	if took := time.Since(began); took > time.Second {
		t.Errorf("%s for the answer at %s", took, now)
	}
	if until.IsZero() {
		if w == Shut {
			t.Errorf("at %s it is shut and opens never", now)
		}
		return
	}
	if !until.After(now) || w == Shut && until.Before(s.start) {
		t.Errorf("at %s it is %s until %s", now, w, until)
	}
	if next, _ := s.At(until); next == w {
		t.Errorf("at %s it is %s until %s, and then %s", now, w, until, next)
	}
	if before, _ := s.At(until.Add(-time.Millisecond)); before != w {
		t.Errorf("at %s it is %s until %s, and a millisecond before that %s", now, w, until, before)
	}
}
