package batch

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// simWatch is the clock of the simulated machine: the one on its wall, that a
// step sets, and inside each reading the time awake, as [time.Now] has it.
type simWatch struct {
	began time.Time
	skew  atomic.Int64 // by how much the wall clock was set in all
}

func newWatch() *simWatch { return &simWatch{began: time.Now()} }

func (c *simWatch) set(by time.Duration) { c.skew.Add(int64(by)) }

func (c *simWatch) now() time.Time {
	t := time.Now()
	return withMonotonic(t.Add(time.Duration(c.skew.Load())), t.Sub(c.began)+1)
}

// withMonotonic returns t with a monotonic reading, of which a bubble's clock has
// none, and which nothing but a reading of a clock can have otherwise.
func withMonotonic(t time.Time, awake time.Duration) time.Time {
	const has, shift = 1 << 63, 30
	epoch := time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC)
	parts := (*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t))
	parts.wall = has | uint64(t.Unix()-epoch.Unix())<<shift | uint64(t.Nanosecond())
	parts.ext = int64(awake)
	return t
}

func TestTheSimulatedClockHasTwoReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWatch()
		a := c.now()
		time.Sleep(time.Minute)
		c.set(-time.Hour)
		b := c.now()
		if b.Sub(a) != time.Minute || !b.After(a) || b.Add(time.Second).Sub(b) != time.Second {
			t.Errorf("awake %s", b.Sub(a))
		}
		if wall := b.Round(0).Sub(a.Round(0)); wall != time.Minute-time.Hour || !b.Round(0).Equal(time.Now().Add(-time.Hour)) {
			t.Errorf("on the wall %s, %s", wall, b)
		}
	})
}
