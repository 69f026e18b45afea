// Package budget counts how often something was done in the last minute, whichever minute
// that is: not those of the clock, around whose turn twice as many would go through.
package budget

import "time"

// slots are the seconds of which a Minute knows how many requests came in each: those of
// a minute, and the one that the minute before began in.
const slots = 61

// Minute lets so many requests through in any 60 seconds. It counts by the second, so
// that what it needs is bounded, and one that is refused may have to wait a second
// longer than a minute. The zero value is ready; who uses it from several goroutines
// holds a lock.
type Minute struct {
	begin  time.Time // when the first was asked for; zero: nothing was yet
	passed time.Duration
	second int64 // the newest that was counted
	count  int   // in all of taken
	taken  *[slots]int32
}

// Take counts one of perMinute, or says after which time there is one again.
func (m *Minute) Take(perMinute int, now time.Time) (wait time.Duration) {
	if m.taken == nil {
		m.begin, m.taken = now, &[slots]int32{}
	}
	m.reach(now)
	if m.count < perMinute {
		m.taken[m.second%slots]++
		m.count++
		return 0
	}
	left := m.count
	for at := m.second + 1; ; at++ { // the slot of the oldest second is the next to be used
		if left -= int(m.taken[at%slots]); left < perMinute {
			return time.Duration(at)*time.Second - m.passed
		}
	}
}

// reach forgets what was a minute before now.
func (m *Minute) reach(now time.Time) {
	m.passed = max(m.passed, now.Sub(m.begin)) // whatever is done to a clock
	m.turn(int64(m.passed / time.Second))
}

// Empty reports whether nothing was taken in the minute before now.
func (m *Minute) Empty(now time.Time) bool {
	if m.taken == nil {
		return true
	}
	m.reach(now)
	return m.count == 0
}

// turn forgets what was a minute before a second.
func (m *Minute) turn(second int64) {
	m.second = max(m.second, second-slots)
	for m.second < second {
		m.second++
		slot := &m.taken[m.second%slots]
		m.count -= int(*slot)
		*slot = 0
	}
}
