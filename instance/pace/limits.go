package pace

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"postern/event"
)

// Bounds of the fields of Limits.
const (
	MaxCount  = 1_000_000 // of every number of messages or contacts
	MaxDays   = 365       // of a warm-up
	MaxJitter = 60_000    // milliseconds
)

// Limits are the sending limits of an instance. A nil or empty field sets no limit.
type Limits struct {
	PerMinute         *int64      `json:"perMinute,omitempty"`         // messages in any 60 seconds, from 1
	PerHour           *int64      `json:"perHour,omitempty"`           // messages in any 60 minutes, from 1
	PerDay            *int64      `json:"perDay,omitempty"`            // messages a local day, from 1
	NewContactsPerDay *int64      `json:"newContactsPerDay,omitempty"` // people a local day who never wrote, from 0
	WarmUp            *WarmUp     `json:"warmUp,omitempty" doc:"The daily limit while the account is new."`
	QuietHours        *QuietHours `json:"quietHours,omitempty" doc:"When nothing is sent, in the time zone."`
	// of days and quiet hours; empty: Config.Location
	Timezone string  `json:"timezone,omitempty" doc:"The IANA time zone of days and quiet hours; message.batch.timezone when absent." example:"Europe/Berlin"`
	JitterMs *Jitter `json:"jitterMs,omitempty" doc:"The pause between two messages, chosen at random each time."`
}

// WarmUp raises the messages a day from From to To over Days days.
type WarmUp struct {
	From int64 `json:"from" strict:"required"`
	To   int64 `json:"to" strict:"required"`
	Days int64 `json:"days" strict:"required"` // of 24 hours
	// RFC 3339; empty when set: unchanged, or now
	StartedAt string `json:"startedAt,omitempty" doc:"When it began; absent: unchanged, or now." example:"$time" rules:"format=date-time"`
}

// QuietHours are daily hours without sending, from From until To, past midnight if To is
// earlier. Both are HH:MM.
type QuietHours struct {
	From string `json:"from" strict:"required"`
	To   string `json:"to" strict:"required"`
}

// Jitter is the range of the random time between two messages of an instance, in
// milliseconds.
type Jitter struct {
	Min int64 `json:"min" strict:"required"`
	Max int64 `json:"max" strict:"required"`
}

// ErrInvalid is wrapped by the errors of Limits.Check.
var ErrInvalid = errors.New("invalid limits")

func invalid(field, rule string) error {
	return &event.RuleError{Field: field, Rule: rule, Kind: ErrInvalid}
}

// Check returns an event.RuleError if a field is invalid.
func (l Limits) Check() error {
	counts := []struct {
		field string
		value *int64
		least int64
	}{
		{"perMinute", l.PerMinute, 1},
		{"perHour", l.PerHour, 1},
		{"perDay", l.PerDay, 1},
		{"newContactsPerDay", l.NewContactsPerDay, 0},
	}
	for _, c := range counts {
		if c.value == nil {
			continue
		}
		if err := within(c.field, *c.value, c.least, MaxCount); err != nil {
			return err
		}
	}
	if _, err := l.zone(time.UTC); err != nil {
		return err
	}
	return cmp.Or(l.WarmUp.check(), l.QuietHours.check(), l.JitterMs.check())
}

func within(field string, v, least, most int64) error {
	if v < least || v > most {
		return invalid(field, fmt.Sprintf("must be %d to %d", least, most))
	}
	return nil
}

// zone returns the time zone of the days.
func (l Limits) zone(otherwise *time.Location) (*time.Location, error) {
	if l.Timezone == "" {
		return otherwise, nil
	}
	zone, err := time.LoadLocation(l.Timezone)
	if err != nil || l.Timezone == "Local" {
		return nil, invalid("timezone", "must be the name of a time zone, such as Europe/Berlin")
	}
	return zone, nil
}

func (w *WarmUp) check() error {
	if w == nil {
		return nil
	}
	if err := within("warmUp.from", w.From, 1, MaxCount); err != nil {
		return err
	}
	if err := within("warmUp.days", w.Days, 1, MaxDays); err != nil {
		return err
	}
	if w.To < w.From || w.To > MaxCount {
		return invalid("warmUp.to", fmt.Sprintf("must be at least warmUp.from, and at most %d", MaxCount))
	}
	if _, err := time.Parse(time.RFC3339, w.StartedAt); w.StartedAt != "" && err != nil {
		return invalid("warmUp.startedAt", "must be RFC 3339, such as 2026-01-31T12:00:00Z")
	}
	return nil
}

// began returns when the warm-up began.
func (w *WarmUp) began() time.Time {
	at, _ := time.Parse(time.RFC3339, w.StartedAt)
	return at
}

func (q *QuietHours) check() error {
	if q == nil {
		return nil
	}
	from, err := minutes("quietHours.from", q.From)
	if err != nil {
		return err
	}
	to, err := minutes("quietHours.to", q.To)
	if err == nil && from == to {
		err = invalid("quietHours.to", "must differ from quietHours.from")
	}
	return err
}

// minutes parses a time of day as the duration since midnight.
func minutes(field, hhmm string) (time.Duration, error) {
	at, err := time.Parse("15:04", hhmm)
	if err != nil || len(hhmm) != len("15:04") {
		return 0, invalid(field, "must be a time of the day from 00:00 to 23:59, as HH:MM")
	}
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, nil
}

func (j *Jitter) check() error {
	if j == nil {
		return nil
	}
	if err := within("jitterMs.min", j.Min, 0, MaxJitter); err != nil {
		return err
	}
	if j.Max < j.Min || j.Max > MaxJitter {
		return invalid("jitterMs.max", fmt.Sprintf("must be at least jitterMs.min, and at most %d", MaxJitter))
	}
	return nil
}

// Takes returns how long n messages take at least by the limits of counts and the pauses, without
// quiet hours, warm-up and new contacts.
func (l Limits) Takes(n int) (d time.Duration) {
	if n < 1 {
		return 0
	}
	if l.JitterMs != nil {
		d = time.Duration(n-1) * time.Duration(l.JitterMs.Min+l.JitterMs.Max) * time.Millisecond / 2
	}
	for _, per := range []struct {
		most *int64
		time time.Duration
	}{{l.PerMinute, time.Minute}, {l.PerHour, time.Hour}, {l.PerDay, 24 * time.Hour}} {
		if per.most != nil && *per.most > 0 {
			d = max(d, time.Duration(int64(n-1) / *per.most)*per.time)
		}
	}
	return d
}
