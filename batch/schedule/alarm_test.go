package schedule

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// skewed is a clock on the wall that is set, or that continues while the timers
// of a suspended machine stand still.
type skewed struct{ by atomic.Int64 }

func (s *skewed) now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }

func (s *skewed) set(by time.Duration) { s.by.Store(int64(by)) }

func TestAnAlarmFollowsTheClockOnTheWall(t *testing.T) {
	const weeks = 3 * 7 * 24 * time.Hour
	for _, tc := range []struct {
		rule          string
		after, skew   time.Duration // what happens to the clock, and when
		earliest, due time.Duration // when it rings, by the time awake
	}{
		{"a clock left alone rings to the moment", 0, 0, weeks, weeks},
		{"a machine suspended over it rings within a minute", 2 * time.Hour, 5 * weeks, 2 * time.Hour, 2*time.Hour + time.Minute},
		{"a machine suspended for a part of it", time.Hour, weeks - 5*time.Hour, 5 * time.Hour, 5 * time.Hour},
		{"a clock set back rings later", weeks - time.Hour, -3 * time.Hour, weeks + 3*time.Hour, weeks + 3*time.Hour},
		{"a clock set forward by a little", weeks - time.Hour, 10 * time.Minute, weeks - 10*time.Minute, weeks - 10*time.Minute},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &skewed{}
				begin := time.Now()
				rung := make(chan time.Duration, 2)
				at := begin.Add(weeks).Round(0) // as a window's edge, of the clock alone
				a := NewAlarm(at, clock.now, func() { rung <- time.Since(begin) })
				defer a.Stop()
				time.Sleep(tc.after)
				clock.set(tc.skew)
				if got := <-rung; got < tc.earliest || got > tc.due {
					t.Errorf("it rang after %s, want %s to %s", got, tc.earliest, tc.due)
				}
				time.Sleep(weeks)
				if len(rung) > 0 {
					t.Error("it rang again")
				}
			})
		})
	}
}

func TestAStoppedAlarmIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAlarm(time.Now().Add(time.Hour), time.Now, func() { t.Error("it rang") })
		time.Sleep(30 * time.Minute)
		a.Stop()
		a.Stop()
		time.Sleep(2 * time.Hour)
		var none *Alarm
		none.Stop()
	})
}
