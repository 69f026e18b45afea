package instance

import (
	"testing"
	"time"

	"postern/event"
)

// TestSignOfPhoneIsStoredHourly reports signs some minutes and some hours apart, and counts the commits.
func TestSignOfPhoneIsStoredHourly(t *testing.T) {
	r := newRig(t, nil, nil)
	rec := r.linked("shop", event.Online)
	begin := time.Now().Add(-10 * time.Hour).Truncate(time.Second)
	for _, row := range []struct {
		after, want time.Duration
		commits     uint64
	}{{0, 0, 1}, {time.Minute, 0, 0}, {59 * time.Minute, 0, 0}, {time.Hour, time.Hour, 1}, {30 * time.Minute, time.Hour, 0}, {3 * time.Hour, 3 * time.Hour, 1}} {
		before := r.s.Stats().Commits
		if err := r.reg.Report(t.Context(), rec.ID, event.Fact{PhoneSeen: begin.Add(row.after)}); err != nil {
			t.Fatal(err)
		}
		if n := r.s.Stats().Commits - before; n != row.commits {
			t.Errorf("after %v: %d commits", row.after, n)
		}
		if got := r.record(rec.ID).PhoneSeenAt.Time; !got.Equal(begin.Add(row.want)) {
			t.Errorf("after %v: %v", row.after, got.Sub(begin))
		}
	}
	// One of the future was made by a clock that is wrong.
	if err := r.reg.Report(t.Context(), rec.ID, event.Fact{PhoneSeen: time.Now().Add(1000 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if ahead := time.Until(r.record(rec.ID).PhoneSeenAt.Time); ahead > time.Minute {
		t.Errorf("%v ahead", ahead)
	}
	if err := r.reg.Report(t.Context(), rec.ID, event.Fact{Unlink: true}); err != nil {
		t.Fatal(err)
	}
	if got := r.record(rec.ID).PhoneSeenAt; !got.IsZero() {
		t.Errorf("%v without an account", got)
	}
}

// TestSignReplacesOneOfAWrongClock pairs an account while the clock is ahead by half a year.
func TestSignReplacesOneOfAWrongClock(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		ahead := 180 * 24 * time.Hour
		r.skew = ahead
		r.reboot()
		rec := r.linked("shop", event.Online)
		sees := func() time.Time {
			r.report(rec.ID, event.Fact{PhoneSeen: time.Now()})
			return r.record(rec.ID).PhoneSeenAt.Time
		}
		r.report(rec.ID, event.Fact{PhoneSeen: time.Now().Add(ahead)})
		r.skew = 0
		r.reboot()
		_ = sees()
		time.Sleep(25 * time.Hour) // until then the file dates by the time it knows
		r.report(rec.ID, event.Fact{Status: event.Disconnected})
		if got := sees(); got.After(time.Now()) || time.Since(got) > time.Minute {
			t.Errorf("the last sign is %v from now", time.Until(got))
		}
		time.Sleep(2 * time.Hour)
		if got := sees(); time.Since(got) > time.Minute {
			t.Errorf("the next sign was not stored: %v from now", time.Until(got))
		}
	})
}
