package event

import (
	"bytes"
	"fmt"
	"time"
)

// timeLayout is RFC 3339 in UTC with exactly three fractional digits, so that
// times of one kind sort as strings.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Time is an instant as it appears in JSON: RFC 3339, UTC, milliseconds. The
// zero Time marshals to null; optional fields use omitzero or *Time.
type Time struct{ time.Time }

// The instants between which RFC 3339 has four digits for the year.
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, int(time.Millisecond), time.UTC) // the zero time means none
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
)

// At returns t as a Time in UTC, cut to milliseconds. The network can send any
// number as a time: an instant outside the years 1 to 9999 becomes the nearest one
// inside.
func At(t time.Time) Time {
	t = t.UTC().Truncate(time.Millisecond)
	switch {
	case t.IsZero():
	case t.Before(earliest):
		t = earliest
	case t.After(latest):
		t = latest
	}
	return Time{t}
}

// AtPtr is At for a field that may be null or absent: nil when t is zero.
func AtPtr(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	v := At(t)
	return &v
}

// String returns the JSON form without quotes.
func (t Time) String() string { return t.UTC().Format(timeLayout) }

// MarshalJSON writes the instant, or null when it is zero.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	b := make([]byte, 0, len(timeLayout)+2+6) // AppendFormat writes nine digits of the fraction, and takes six back
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeLayout)
	return append(b, '"'), nil
}

// UnmarshalJSON reads any RFC 3339 instant, or null for the zero Time.
func (t *Time) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*t = Time{}
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("time %.100s is not an RFC 3339 string", b)
	}
	v, err := time.Parse(time.RFC3339, string(b[1:len(b)-1]))
	if err != nil {
		return fmt.Errorf("time %.100s is not RFC 3339, such as 2026-01-31T12:00:00Z", b)
	}
	*t = At(v)
	return nil
}
